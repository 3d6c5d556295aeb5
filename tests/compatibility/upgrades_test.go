package compatibility

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Each database is served as it is, and has what this version makes of it once the commands have run that CHANGELOG.md
// names.
func TestWhatEarlierVersionsLeftIsServed(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(databases)
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no databases %s: %v", databases, err)
	}
	for _, database := range found {
		folder := filepath.Dir(database)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			// Where its feed ended. A version that had a feed had the other features, too.
			text, err := os.ReadFile(filepath.Join(folder, "cursor"))
			cursor, hadFeed := strings.TrimSpace(string(text)), err == nil
			directory := filepath.Join(t.TempDir(), "data")
			putBack(t, database, directory)
			settings := append(program.EngineSettings(t, directory), "DATA_DIR="+directory)
			for name := range strings.FieldsSeq(strings.ReplaceAll(program.OwnColumns(), ",", " ")) {
				program.RunWith(t, settings, nil, "add-field", name).MustSucceed(t)
			}

			p := program.Serve(t, "DATA_DIR="+directory)
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, program.ReadFile(t, filepath.Join(folder, "users.json")))
			expectWarnings(t, p, hadFeed && !program.PostgreSQL)
			if hadFeed {
				p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, feedOfBefore, "…")
			}
			program.Expect(t, "the id of the first new user", p.Create(t, "New", "new@example.org"), 6)
			p.Change(t, 2, `{"name":"Rear Admiral Hopper"}`)
			expectAnswers(t, p, hadFeed)
			for _, command := range remake {
				p.Run(t, command...).MustSucceed(t)
			}
			p.WaitForFeed(t)
			if hadFeed {
				p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, `{"error":"…export all users again…"}`)
			}
			cursor = p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
			p.Change(t, 3, `{"name":"Anders Ångström"}`)
			const feed = `{"changes":[{…,"op":"changed","id":3,…"name":"Anders Ångström"…`
			p.Do(t, "GET", "/api/changes?wait=60&after="+cursor, "").Expect(t, 200, feed)
			expectAnswers(t, p, hadFeed)

			users := p.Do(t, "GET", "/api/users", "").Body
			p.Stop(t)
			p = program.Serve(t, "DATA_DIR="+directory)
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, users)
			p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 200, feed)
			expectWarnings(t, p, false)
			program.ExpectIntact(t, p.DatabasePath())

			fresh := program.ServeFeed(t)
			fresh.Run(t, "index-search").MustSucceed(t)
			if hadFeed {
				fresh.Run(t, "ignore-email-case").MustSucceed(t)
			}
			want := program.OpenOther(t, fresh.DatabasePath()).Ask(made)
			got := program.OpenOther(t, p.DatabasePath()).Ask(made)
			program.Expect(t, "what the database has, and a new one", got, want)
		})
	}
}

func expectAnswers(t *testing.T, p *program.Program, ignoresCase bool) {
	t.Helper()
	const ada, grace = `[{"id":1,"name":"Ada, Countess of Lovelace",…}]`, `[{"id":2,…,"email":"Grace@Example.org",…}]`
	byEmail, status := "[]", 201
	if ignoresCase {
		byEmail, status = grace, 409
	}
	for query, want := range map[string]string{"q=LOVELACE": ada, "q=countess&limit=1": ada, "q=grace@": grace,
		"q=deleted": "[]", "email=GRACE@EXAMPLE.ORG": byEmail} {
		p.Do(t, "GET", "/api/users?"+query, "").Expect(t, 200, want)
	}
	const problem = "Accept: application/problem+json"
	created := p.Do(t, "POST", "/api/users", program.Body("Other", "LAST@example.org"), problem)
	created.Expect(t, status, "…")
	if status == 201 {
		p.Delete(t, created.User(t).ID)
	}
}

// expectWarnings fails the test unless the log has, or has not, what a person must do after an upgrade.
func expectWarnings(t *testing.T, p *program.Program, want bool) {
	t.Helper()
	for _, command := range []string{"`users-api changes on`", "`users-api index-search`"} {
		program.Expect(t, "whether the log has "+command, strings.Contains(p.Log(), command), want)
	}
}
