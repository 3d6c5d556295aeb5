package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	documented := statuses(read(t, "../../web/openapi.yaml"), `(?m)^ +'([45]\d\d)':`)
	// The document does not describe what a path answers to a method that it does not have, nor groups.
	documented = append(documented, "405", "501")
	slices.Sort(documented)
	if shown := statuses(read(t, "../../docs/errors.md"), `(?m)^\| ([45]\d\d(?:, [45]\d\d)*) \|`); !slices.Equal(shown, slices.Compact(documented)) {
		t.Errorf("docs/errors.md has %v, and web/openapi.yaml %v", shown, documented)
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
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(read(t, path), -1) {
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
			} else if heading != "" && !slices.Contains(headings(read(t, file)), heading) {
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

func read(t *testing.T, path string) string {
	t.Helper()
	return program.ReadFile(t, path)
}
