//go:build !postgres

package changes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// ofEngine are statements that only SQLite has. The triggers of the feed see what REPLACE removes if the program asks for it.
var ofEngine = []string{
	"PRAGMA recursive_triggers = ON; REPLACE INTO users (name, email) SELECT 'replaced', email FROM users WHERE id % 7 = 1",
	"REPLACE INTO users (id, name, email) SELECT id, 'replaced', email || 'r' FROM users WHERE id % 7 = 2",
	"UPDATE OR REPLACE users SET id = id + 3, email = 'moved' || id WHERE id % 97 = 4",
	"DELETE FROM users WHERE id % 37 = 5; VACUUM",
}

// blind makes the triggers of the feed do nothing for what this connection writes, as `.dbconfig enable_trigger off` does in the
// sqlite3 shell.
const blind = "CREATE TEMP TRIGGER blind BEFORE INSERT ON main.users_changes BEGIN SELECT RAISE(IGNORE); END"

func TestAWriteThatTheFeedMissesIsShown(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Create(t, "Ada", "ada")
	p.List(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(blind)
	for i, statement := range []string{"INSERT INTO users (name, email) VALUES ('Alan', 'alan')", "UPDATE users SET name = 'Turing' WHERE id = 2"} {
		other.Do(statement)
		list, want := p.Do(t, "GET", "/api/users", "").Body, other.Ask("SELECT name FROM users WHERE id = 2")
		one, page := p.Do(t, "GET", "/api/users/2", ""), p.Do(t, "GET", "/api/users?limit=1&after=1", "").Body
		if !strings.Contains(list, want) || !strings.Contains(one.Body, want) || !strings.Contains(page, want) {
			t.Errorf("after %s %q is not in the list %s, the user %s or the page %s", statement, want, list, one.Body, page)
		}
		tag := "If-Match: " + one.Header.Get("ETag")
		p.Do(t, "PATCH", "/api/users/2", fmt.Sprintf(`{"name":"A%d"}`, i), tag).Expect(t, 200, "…")
	}
}

func TestCursorsAreNotUsedAgainOnceAnotherProgramEmptiesTheFeed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	create := func(n int) (cursors []string) {
		for range n {
			p.Create(t, "n", fmt.Sprint(len(p.List(t))))
			cursors = append(cursors, p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor"))
		}
		return cursors
	}
	before := create(5)
	program.OpenOther(t, p.DatabasePath()).Do("DELETE FROM users_changes")
	if answer := p.Do(t, "GET", "/api/changes?after="+before[4], ""); answer.Status != 200 {
		t.Errorf("after the last, the feed is answered %d %s", answer.Status, answer.Body)
	}
	after := create(5)
	if answer := p.Do(t, "GET", "/api/changes?after="+before[0], ""); answer.Status != 410 {
		t.Errorf("after what was erased, the feed is answered %d %s", answer.Status, answer.Body)
	}
	for _, cursor := range after {
		if slices.Contains(before, cursor) {
			t.Errorf("the cursor %s is used twice", cursor)
		}
	}
}

// An index that has missed writes has them once the command has run again.
func TestAnIndexOfSearchesIsMadeAnew(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	p.Run(t, "index-search").MustSucceed(t)
	other := program.OpenOther(t, p.DatabasePath())
	const triggers = "FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'users'"
	var again []string
	for other.Ask("SELECT count(*) "+triggers) != "0" {
		again = append(again, other.Ask("SELECT sql "+triggers))
		other.Do("DROP TRIGGER " + other.Ask("SELECT name "+triggers))
	}
	other.Do(append([]string{"INSERT INTO users (name, email) VALUES ('Lovelace', 'l')", "DELETE FROM users WHERE id = 1"}, again...)...)
	p.Run(t, "index-search").MustSucceed(t)
	for text, want := range map[string]int{"lovelace": 1, "LOVE": 1, "ada": 0} {
		if answer := p.Do(t, "GET", "/api/users?count=true&q="+text, ""); len(answer.Users(t)) != want {
			t.Errorf("the search for %s is answered %s", text, answer.Body)
		}
	}
}

// Another program may even make SQLite forget which keys it has used.
func TestTheFeedBeginsAgainOnceItsSequenceIsReset(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Create(t, "Ada", "ada")
	old := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	program.OpenOther(t, p.DatabasePath()).Do("DELETE FROM users_changes", "DELETE FROM sqlite_sequence")
	for _, path := range []string{"/api/users", "/api/users?limit=1", program.CSV} {
		answer := p.Do(t, "GET", path, "")
		answer.Expect(t, 200, "…ada…")
		program.ExpectHeader(t, answer, "Changes-Cursor", "")
	}
	p.Do(t, "GET", "/api/changes?after="+old, "").Expect(t, 410, "…")
	p.Create(t, "Alan", "alan")
	p.Stop(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir)
	program.WaitFor(t, "the feed has begun again", func() bool {
		return p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor") != ""
	})
	p.Do(t, "GET", "/api/changes?after="+old, "").Expect(t, 410, "…")
	p.Create(t, "Grace", "grace")
	p.Do(t, "GET", "/api/changes", "").Expect(t, 200, `{"changes":[{…"op":"created","id":3,…}],"next":"…"}`)
}
