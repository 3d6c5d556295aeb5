package faults

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// What a backup, a log or a copy of before has of a user is not the program's to take back: docs/operating.md, "Erase somebody".
func TestWhatIsDeletedOrOverwrittenIsNotInTheFileAfterAStop(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.ServeFeed(t)
	p.Run(t, "index-search").MustSucceed(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(1000)
	other.Close()
	long := strings.Repeat("erased ", 3000) // on pages of its own
	p.Delete(t, p.Create(t, long, "erased-1@example.org"))
	p.Delete(t, p.Create(t, "Erased \u044a\u044b\u044c", "erased-2@example.org"))
	changed := p.Create(t, long, "erased-3@example.org")
	p.Change(t, changed, `{"name":"kept","email":"kept@example.org"}`)
	p.Create(t, "erased", "erased-4@example.org")
	p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=2000", "name,email\nkept,kept@example.org\n").
		Expect(t, 200, `{"created":0,"updated":0,"skipped":1,"deleted":1001,…`)
	p.Run(t, "index-search").MustSucceed(t) // which has the parts of all texts since it was made
	p.Stop(t)
	program.ExpectNames(t, p.DataDir, "users.db")
	expectErased(t, p.DatabasePath(), "erased", "Erased", "User 1", "\u044a\u044b\u044c")

	other = program.OpenOther(t, p.DatabasePath()) // and of an earlier version, which did not overwrite
	other.Do("PRAGMA secure_delete = OFF", "INSERT INTO users (name, email) VALUES ('n', 'left@example.org')",
		"DELETE FROM users WHERE name = 'n'")
	other.Close()
	expectErased(t, program.BackUp(t, p.DataDir), "left@")
}

func expectErased(t *testing.T, path string, erased ...string) {
	t.Helper()
	text := program.ReadFile(t, path)
	for _, each := range erased {
		program.Expect(t, "how often the file has "+each, strings.Count(text, each), 0)
	}
	program.Expect(t, "how often the file has what is kept", strings.Count(text, "kept@example.org"), 2) // and once in an index
}
