package api

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// What another program does is in the feed, row by row: a client that follows it has the list after each.
func TestTheFeedHasWhateverAnotherProgramDoes(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Do(t, "POST", program.CSV, program.ManyRows(200)).Expect(t, 200, program.Imported(200, 0, 0, 0))
	f := &program.Follower{}
	f.Settle(t, p)
	other := program.OpenOther(t, p.DatabasePath())
	for _, statements := range append([]string{
		"INSERT INTO users (name, email) VALUES ('n', 'a'), ('n', 'b')",
		"UPDATE users SET name = 'changed' WHERE id % 13 = 1",
		"DELETE FROM users WHERE id % 31 = 2",
		"UPDATE users SET id = -id WHERE id % 53 = 3",
		"INSERT INTO users (name, email) VALUES ('upserted', 'a') ON CONFLICT (email) DO UPDATE SET name = 'upserted'",
		"BEGIN; UPDATE users SET name = 'taken back'; ROLLBACK",
		"BEGIN; DELETE FROM users WHERE email = 'a'; INSERT INTO users (name, email) VALUES ('again', 'a'); COMMIT",
	}, ofEngine...) {
		before := p.Do(t, "GET", "/api/users", "").Body
		other.Do(strings.Split(statements, "; ")...)
		isSame := p.Do(t, "GET", "/api/users", "").Body == before
		if isSame != strings.Contains(statements, "ROLLBACK") {
			t.Errorf("the list is the same after %s: %t", statements, isSame)
		}
		t.Log(statements)
		f.Settle(t, p)
	}
	for _, command := range []string{"ignore-email-case", "add-field room", "index-search"} {
		p.Run(t, strings.Fields(command)...).MustSucceed(t)
		p.Create(t, command, command)
		t.Log(command)
		f.Settle(t, p)
	}
	if f.Exports != 1 {
		t.Errorf("the client had to begin again, %d times", f.Exports-1)
	}
}
