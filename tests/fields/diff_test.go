package fields

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

const root = "../.."

// buildWithBadge builds the program with the change that CONTRIBUTING.md shows, which adds an optional badge to users,
// and returns its path. Go keeps what it has built: an overlay leaves every file that does not change where it is.
func buildWithBadge(t *testing.T) (binary string) {
	t.Helper()
	directory, replace := t.TempDir(), map[string]string{}
	for _, part := range strings.Split(adding(t), "--- ")[1:] {
		name, hunks, _ := strings.Cut(part, "\n")
		text := program.ReadFile(t, filepath.Join(root, name))
		if name == "tests/program/fields.go" { // as it is before the change, whatever was added here
			text = ownFields.ReplaceAllString(text, "var ownFields = []string{}")
		}
		for _, change := range hunk.Split(hunks, -1)[1:] {
			text = applyHunk(t, name, text, change)
		}
		original, err := filepath.Abs(filepath.Join(root, name))
		program.Must(t, err)
		replace[original] = filepath.Join(directory, filepath.Base(name))
		program.WriteFile(t, replace[original], text)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	program.Must(t, err)
	program.WriteFile(t, filepath.Join(directory, "overlay.json"), string(overlay))
	binary, err = program.Build(t.TempDir(), "-overlay="+filepath.Join(directory, "overlay.json"))
	program.Must(t, err)
	return binary
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

var ownFields = regexp.MustCompile(`var ownFields = \[\]string\{.*\}`)

var hunk = regexp.MustCompile(`(?m)^@@.*\n`)

// applyHunk replaces the lines of a hunk that are in a text by those that shall be, unless it has these already.
func applyHunk(t *testing.T, name, text, change string) string {
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
	if strings.Count(text, after.String()) == 1 {
		return text
	}
	if strings.Count(text, before.String()) != 1 {
		t.Fatalf("%s does not have these lines once:\n%s", name, before.String())
	}
	return strings.Replace(text, before.String(), after.String(), 1)
}
