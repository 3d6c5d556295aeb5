package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"users-api/tests/program"
)

// docs/errors.md has a row for every error that the API's document has, and no other.
func TestTheTableOfErrorsHasEveryStatus(t *testing.T) {
	t.Parallel()
	statuses := func(text, pattern string) (found []string) {
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, regexp.MustCompile(`[45]\d\d`).FindAllString(match[1], -1)...)
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	documented := statuses(program.ReadFile(t, "../../web/openapi.yaml"), `(?m)^ +'([45]\d\d)':`)
	// The document does not describe what a path answers to a method that it does not have, nor groups.
	documented = append(documented, "405", "501")
	slices.Sort(documented)
	shown := statuses(program.ReadFile(t, "../../docs/errors.md"), `(?m)^\| ([45]\d\d(?:, [45]\d\d)*) \|`)
	if !slices.Equal(shown, slices.Compact(documented)) {
		t.Errorf("docs/errors.md has %v, and web/openapi.yaml %v", shown, documented)
	}
}

// What a route takes, by its own sentence, is what web/openapi.yaml describes, and docs/api.md explains each of it.
func TestEveryParameterIsDescribed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t, "USER_FIELDS=updated_at")
	document, err := openapi3.NewLoader().LoadFromData([]byte(p.Do(t, "GET", "/openapi.json", "").Body))
	program.Must(t, err)
	explained, asked := program.ReadFile(t, "../../docs/api.md"), 0
	for path, item := range document.Paths.Map() {
		if !strings.HasPrefix(path, "/api/") {
			continue
		}
		for method, operation := range item.Operations() {
			_, says, takes := strings.Cut(p.Do(t, method, path+"?_=1", "").Body, " takes ")
			if !takes {
				continue
			}
			asked++
			taken := regexp.MustCompile(`[\w!]+`).FindAllString(strings.Replace(says, " and ", ", ", 1), -1)
			var described []string
			for _, parameter := range operation.Parameters {
				if parameter.Value.In == "query" {
					described = append(described, parameter.Value.Name)
				}
			}
			if !slices.Equal(taken, described) {
				t.Errorf("%s %s takes %v, and web/openapi.yaml has %v", method, path, taken, described)
			}
			for _, name := range taken {
				if !strings.Contains(explained, "`"+name+"=") && !strings.Contains(program.OwnColumns(), strings.TrimSuffix(name, "!")+",") {
					t.Errorf("docs/api.md does not explain %s, which %s takes", name, path)
				}
			}
		}
	}
	if asked < 6 {
		t.Errorf("%d routes say what they take", asked)
	}
}

// A command or a target of make that a document names exists.
func TestEveryCommandInADocumentExists(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	targets := regexp.MustCompile(`(?m)^[a-z]+:`).FindAllString(program.ReadFile(t, "../../Makefile"), -1)
	for _, path := range slices.Concat(glob(t, "../../*.md"), glob(t, "../../docs/*.md"), glob(t, "../../docs/decisions/*.md")) {
		text := program.ReadFile(t, path)
		for _, command := range regexp.MustCompile("`users-api ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			named[command[1]] = true
		}
		for _, target := range regexp.MustCompile("(?m)(?:`|^)make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(targets, target[1]+":") {
				t.Errorf("%s names make %s, which Makefile does not have", path, target[1])
			}
		}
	}
	if len(named) < 8 {
		t.Errorf("the documents name %v alone", named)
	}
	for command := range named {
		if _, stderr, code := program.Run(t, nil, "help", command); code != 0 {
			t.Errorf("a document names users-api %s: %s", command, stderr)
		}
	}
}

// A link in a document leads to a file of the repository, and to a heading in it.
func TestEveryLinkInADocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	documents := slices.Concat(glob(t, "../../*.md"), glob(t, "../../docs/*.md"), glob(t, "../../docs/decisions/*.md"), glob(t, "../../bench/*.md"))
	if len(documents) < 15 {
		t.Fatalf("there are %d documents", len(documents))
	}
	for _, path := range documents {
		text := program.ReadFile(t, path)
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			target, heading, _ := strings.Cut(link[1], "#")
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", path, err)
			} else if heading != "" && !slices.Contains(headings(program.ReadFile(t, file)), heading) {
				t.Errorf("%s leads to %s, which has no such heading", path, link[1])
			}
		}
	}
}

// headings returns the names that links use for the headings of a document.
func headings(text string) (names []string) {
	for _, line := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(line[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	program.Must(t, err)
	return paths
}
