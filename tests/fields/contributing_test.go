package fields

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheChangeInCONTRIBUTINGAddsAFieldThatEveryServiceHas(t *testing.T) {
	t.Parallel()
	binary := buildWithBadge(t)
	p := program.Start(t, binary, "USER_FIELDS=room")
	p = p.At(p.URL) // the tests do not know the document of the copy
	expect(t, p, exchange{"a user has it before those of the setting", "POST /api/users",
		`{"name":"Ada","email":"ada","badge":"1815","room":"7"}`,
		`201 {"id":1,"name":"Ada","email":"ada","badge":"1815","room":"7"}`},
		exchange{"a filter finds it", "GET /api/users?badge=1815", "",
			`200 [{"id":1,"name":"Ada","email":"ada","created_at":"T","badge":"1815","room":"7"}]`},
		exchange{"a file has it", "GET /api/users.csv", "",
			program.WithoutOwn("200 id,name,email,created_at,badge,room\r\n1,Ada,ada,T,1815,7\r\n")},
		exchange{"an import changes it", "POST /api/users.csv?on_conflict=update", "name,email,badge\nAda,ada,1912\n",
			"200 " + program.Imported(0, 1, 0, 0)},
		exchange{"the page asks for it", "GET /", "", `200 …data-optional="badge"…`},
		exchange{"the document explains it", "GET /openapi.json", "", `200 …"badge"…`},
	)
	refused := program.Launch(t, binary, "USER_FIELDS=badge")
	program.ExpectRefusal(t, refused, `USER_FIELDS is \"badge\": every user has the field badge already`)
	expectWayOn(t, binary)
}

// expectWayOn starts the changed program on a database from before the change: the error names the command that adds the column.
func expectWayOn(t *testing.T, binary string) {
	t.Helper()
	directory, id, created := t.TempDir(), "INTEGER", "TEXT"
	if program.PostgreSQL {
		id, created = "bigserial", "timestamptz DEFAULT now()"
	}
	program.OpenOther(t, filepath.Join(directory, "users.db")).Do("CREATE TABLE IF NOT EXISTS users (id "+id+
		" PRIMARY KEY, name text, email text UNIQUE, created_at "+created+")", "INSERT INTO users (name, email) VALUES ('Ada', 'ada')")
	refused := program.Launch(t, binary, "DATA_DIR="+directory)
	program.ExpectRefusal(t, refused, "the table users has no column", "run `users-api add-field badge`")
	program.Forbid(t, refused.Log(), "USER_FIELDS")
	for name := range strings.SplitSeq(strings.Trim("badge,"+strings.ReplaceAll(program.OwnColumns(), "badge,", ""), ","), ",") {
		refused.Run(t, "add-field", name).MustSucceed(t)
	}
	p := program.Start(t, binary, "DATA_DIR="+directory)
	expect(t, p.At(p.URL), exchange{"the value", "PATCH /api/users/1", `{"badge":"1815"}`, `200 {"id":1,…"badge":"1815"}`})
}

const root = "../.."

// buildWithBadge builds the program with the change that CONTRIBUTING.md shows, which adds an optional badge to users,
// and returns its path. Go keeps what it has built: an overlay leaves every file that does not change where it is.
func buildWithBadge(t *testing.T) (binary string) {
	t.Helper()
	directory, replace := t.TempDir(), map[string]string{}
	_, section, _ := strings.Cut(program.ReadFile(t, root+"/CONTRIBUTING.md"), "\n## Adding a field\n")
	_, diff, open := strings.Cut(section, "```diff\n")
	diff, _, closed := strings.Cut(diff, "```")
	if !open || !closed {
		t.Fatal("CONTRIBUTING.md has no section with a diff that adds a field")
	}
	for _, part := range strings.Split(diff, "--- ")[1:] {
		name, hunks, _ := strings.Cut(part, "\n")
		text := program.ReadFile(t, filepath.Join(root, name))
		if name == "tests/program/fields.go" { // as it is before the change, whatever was added here
			text = regexp.MustCompile(`(var ownFields = \[\]string)\{.*\}`).ReplaceAllString(text, "$1{}")
		}
		for _, change := range regexp.MustCompile(`(?m)^@@.*\n`).Split(hunks, -1)[1:] {
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
