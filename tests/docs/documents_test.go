package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"users-api/tests/program"
)

// What a route takes, by its own sentence, is what web/openapi.yaml describes, and docs/api.md explains each of it.
func TestEveryParameterIsDescribed(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=updated_at")
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
			slices.Sort(described)
			program.Expect(t, "what web/openapi.yaml has of "+method+" "+path, described, slices.Sorted(slices.Values(taken)))
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
	for path, text := range documents(t) {
		for _, command := range regexp.MustCompile("`users-api ([a-z][a-z-]*)").FindAllStringSubmatch(text, -1) {
			named[command[1]] = true
		}
		for _, target := range regexp.MustCompile("(?m)(?:`|^)make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !slices.Contains(targets, target[1]+":") {
				t.Errorf("%s names make %s, which Makefile does not have", path, target[1])
			}
		}
	}
	if len(named) < 7 {
		t.Errorf("the documents name %v alone", named)
	}
	for command := range named {
		program.RunWith(t, nil, nil, "help", command).MustSucceed(t)
	}
}

// A link in a document leads to a file of the repository, and to a heading in it.
func TestEveryLinkInADocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for path, text := range documents(t) {
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

// documents returns the texts of all documents by their paths.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, path := range slices.Concat(glob(t, "../../*.md"), glob(t, "../../*/*.md"), glob(t, "../../docs/decisions/*.md")) {
		texts[path] = program.ReadFile(t, path)
	}
	if len(texts) < 15 {
		t.Fatalf("there are %d documents", len(texts))
	}
	return texts
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	program.Must(t, err)
	return paths
}

var (
	goFile       = regexp.MustCompile(`[\w./*-]*\w\.go\b`)
	testName     = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	hasProse     = regexp.MustCompile(`\.(md|tmpl|go|js|ts|ya?ml|sh|env|mod)$|^\.ci/|Makefile$|Dockerfile$`)
	comment      = regexp.MustCompile(`(?m)(^\s*\*|//|#).*$`) // in a line of code
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// Each file of Go code and each test that a document or a comment names exists: a reader who looks for it must find it.
func TestEveryNameInADocumentOrACommentExists(t *testing.T) {
	t.Parallel()
	const root, others = "../..", ".git bench/build data dist tmp"
	var files, tests []string
	program.Must(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(strings.Fields(others), name) || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !entry.IsDir():
			files = append(files, name)
		}
		if strings.HasSuffix(name, "_test.go") {
			for _, function := range testFunction.FindAllStringSubmatch(program.ReadFile(t, path), -1) {
				tests = append(tests, function[1])
			}
		}
		return nil
	}))
	names := "\n" + strings.Join(files, "\n") + "\n"
	for _, path := range files {
		if !hasProse.MatchString(path) {
			continue
		}
		prose := program.ReadFile(t, filepath.Join("../..", path))
		if extension := filepath.Ext(path); extension != ".md" && extension != ".tmpl" {
			prose = strings.Join(comment.FindAllString(prose, -1), "\n")
		}
		for _, name := range goFile.FindAllString(prose, -1) { // from anywhere; one with a * leads to each file of such a name
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimLeft(name, "./")), `\*`, `.*`)
			if !regexp.MustCompile(`[\n/]` + pattern + `\n`).MatchString(names) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		for _, name := range testName.FindAllString(prose, -1) {
			if !slices.Contains(tests, name) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

var (
	shellBlock = regexp.MustCompile("(?ms)^ *```(?:sh|shell)\n(.*?)^ *```")
	example    = regexp.MustCompile(`(?m)^  (?:(?:[A-Z_]+=\S+ )*(?:docker|users-api) |[A-Z_]+=\$).*$`) // in a help text
)

// shownCommands returns what people paste: the blocks for a shell in each document, and the examples in the help of each command.
func shownCommands(t *testing.T) (shown map[string][]string) {
	t.Helper()
	shown = map[string][]string{}
	for path, text := range documents(t) {
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			shown[path] = append(shown[path], block[1])
		}
	}
	help := program.RunCommand(t, t.TempDir(), nil, "help").Stdout
	for _, command := range regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`).FindAllStringSubmatch(help, -1) {
		text := program.RunCommand(t, t.TempDir(), nil, "help", command[1]).Stdout
		shown["help "+command[1]] = example.FindAllString(text, -1)
	}
	if len(shown[readme]) < 8 || len(shown[recipes]) < 10 || len(shown["help backup"]) < 2 || len(shown["help key"]) < 3 {
		t.Fatalf("shown are %q", shown)
	}
	return shown
}

// An interactive zsh, which is what a Mac has, takes remarks as arguments. In an `if`, `set -e` does nothing; what a shell is told
// outside of brackets stays; `ps` shows everybody the key that is an argument; and a % ends the command of a line for cron.
func TestWhatIsPastedMeansWhatItSays(t *testing.T) {
	t.Parallel()
	for path, scripts := range shownCommands(t) {
		for _, script := range scripts {
			if found := regexp.MustCompile(`(?m)(?:^|\s)#.*|\S {2,}\S.*|<\w+ \w+.*|set -e.*|^ *umask.*`).FindString(script); found != "" {
				t.Errorf("%s shows, in what people paste: %s", path, found)
			}
		}
	}
	texts := documents(t)
	for _, path := range glob(t, "../../docs/*.sh") { // nginx gives up on a response after 60 s
		texts[path] = program.ReadFile(t, path)
		program.Expect(t, "how long "+path+" waits", texts[path], "… wait=50 …")
	}
	for path, text := range texts {
		if key := regexp.MustCompile(`(?:curl|--from).*\$(?i:{?key).*`).FindString(text); key != "" {
			t.Errorf("%s shows a key as an argument: %s", path, key)
		}
	}
	cron := regexp.MustCompile("```crontab\n.*\n").FindString(texts["../../docs/backup.md"])
	program.Expect(t, "whether a % ends the line for cron", regexp.MustCompile(`[^\\]%|^$`).MatchString(cron), false)
}

// A backup gets its name once it is complete: one that fails must not empty the last good one.
func TestABackupThatIsPastedKeepsTheLastGoodOne(t *testing.T) {
	t.Parallel()
	toFile := regexp.MustCompile(`(?:backup -|pg_dump [^>\n]*) ?> ?(\S+)`)
	backups, texts := 0, documents(t) // what stands in a sentence, too
	texts["help backup"] = strings.Join(shownCommands(t)["help backup"], "\n")
	for path, text := range texts {
		for _, match := range toFile.FindAllStringSubmatch(text, -1) {
			backups++
			name, isNew := strings.CutSuffix(match[1], ".new")
			if moves := regexp.MustCompile(`&&\s+mv ` + regexp.QuoteMeta(match[1]+" "+name)); !isNew || !moves.MatchString(text) {
				t.Errorf("%s shows a backup that empties the last one when it fails: %s", path, match[0])
			}
		}
	}
	if backups < 5 {
		t.Errorf("%d backups are shown", backups)
	}
}
