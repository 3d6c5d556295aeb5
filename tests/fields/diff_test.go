package fields

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

const root = "../.."

// buildWithPhone makes the change that CONTRIBUTING.md shows, which adds an optional phone to users, in a copy of the
// program. It returns the path of the built copy, and how many Go files and lines the change touches.
func buildWithPhone(t *testing.T) (binary string, files, lines int) {
	t.Helper()
	changed := copyTree(t)
	files, lines = applyDiff(t, changed, adding(t))
	return build(t, changed), files, lines
}

// adding returns the change that CONTRIBUTING.md shows.
func adding(t *testing.T) string {
	t.Helper()
	text := program.ReadFile(t, root+"/CONTRIBUTING.md")
	_, section, found := strings.Cut(text, "\n## Adding a field\n")
	_, diff, open := strings.Cut(section, "```diff\n")
	diff, _, closed := strings.Cut(diff, "```")
	if !found || !open || !closed {
		t.Fatal("CONTRIBUTING.md has no section with a diff that adds a field")
	}
	return diff
}

// copyTree copies what the program is built from, and tests/program, which says what the tests expect.
func copyTree(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	program.Must(t, os.Mkdir(filepath.Join(directory, "tests"), 0o700))
	for _, name := range []string{"main.go", "go.mod", "go.sum", "commands", "config", "controllers", "models", "routes",
		"tests/program", "web"} {
		from, to := filepath.Join(root, name), filepath.Join(directory, name)
		if output, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	path := filepath.Join(directory, "tests/program/fields.go") // as it is before the change, whatever was added here
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, ownFields.ReplaceAll(text, []byte("var ownFields = []string{}")), 0o600)
	}
	program.Must(t, err)
	return directory
}

var ownFields = regexp.MustCompile(`var ownFields = \[\]string\{.*\}`)

var hunk = regexp.MustCompile(`(?m)^@@.*\n`)

// applyDiff applies a diff to the files of a directory, and returns how many Go files and lines it changes.
func applyDiff(t *testing.T, directory, diff string) (files, lines int) {
	t.Helper()
	for _, part := range strings.Split(diff, "--- ")[1:] {
		name, hunks, _ := strings.Cut(part, "\n")
		if filepath.Ext(name) == ".go" {
			files++
		}
		for _, change := range hunk.Split(hunks, -1)[1:] {
			lines += strings.Count("\n"+change, "\n+") + strings.Count("\n"+change, "\n-")
			applyHunk(t, filepath.Join(directory, name), change)
		}
	}
	return files, lines
}

// applyHunk replaces the lines of a hunk that are there by those that shall be, unless the tree has these already.
func applyHunk(t *testing.T, path, change string) {
	t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(change) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	text, err := os.ReadFile(path)
	if strings.Count(string(text), after.String()) == 1 {
		return
	}
	if err != nil || strings.Count(string(text), before.String()) != 1 {
		t.Fatalf("%s does not have these lines once, %v:\n%s", path, err, before.String())
	}
	program.Must(t, os.WriteFile(path, []byte(strings.Replace(string(text), before.String(), after.String(), 1)), 0o600))
}

func build(t *testing.T, directory string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users-api")
	command := exec.Command("go", "build", "-tags", "nomsgpack", "-o", path, ".")
	command.Dir = directory
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}
