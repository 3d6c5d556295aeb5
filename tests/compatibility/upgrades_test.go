package compatibility

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Each database is served as it is, without what recorded its changes, and has what this version makes of it once the commands
// have run that CHANGELOG.md names.
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
			cursor := strings.TrimSpace(program.ReadFile(t, filepath.Join(folder, "cursor"))) // where its feed ended
			fields := "USER_FIELDS=" + strings.TrimSpace(program.ReadFile(t, filepath.Join(folder, "fields")))
			directory := filepath.Join(t.TempDir(), "data")
			putBack(t, database, directory)
			feed := feedOf(t, database, directory)
			settings := append(program.EngineSettings(t, directory), "DATA_DIR="+directory)
			for name := range strings.FieldsSeq(strings.ReplaceAll(program.OwnColumns(), ",", " ")) {
				program.RunWith(t, settings, nil, "add-field", name).MustSucceed(t)
			}

			p := program.Serve(t, "DATA_DIR="+directory, fields)
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, program.ReadFile(t, filepath.Join(folder, "users.json")))
			expectRemoval(t, p, true)
			program.Expect(t, "whether the log asks for another index", strings.Contains(p.Log(), "`users-api index-search`"), !program.PostgreSQL)
			p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, `{"error":"…export all users again…"}`)
			cursor = p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
			program.Expect(t, "the id of the first new user", p.Create(t, "New", "new@example.org"), 6)
			p.Change(t, 2, `{"name":"Rear Admiral Hopper"}`)
			const entries = `{"changes":[{…"op":"created","id":6,…},{…"op":"changed","id":2,…"name":"Rear Admiral Hopper"…}],…`
			program.WaitFor(t, "the feed has both writes", func() bool { // on PostgreSQL other tests may hold it back
				return program.Matches(p.Do(t, "GET", "/api/changes?after="+cursor, "").Body, entries)
			})
			expectAnswers(t, p)
			program.RunWith(t, append(settings, fields), nil, "index-search").MustSucceed(t)
			users := p.Do(t, "GET", "/api/users", "").Body
			p.Stop(t)

			p = program.Serve(t, "DATA_DIR="+directory, fields)
			p.Do(t, "GET", "/api/users", "").Expect(t, 200, users)
			p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 200, entries)
			expectRemoval(t, p, false)
			expectAnswers(t, p)
			program.ExpectIntact(t, p.DatabasePath())
			fresh := program.Serve(t, fields)
			settings = append(program.EngineSettings(t, fresh.DataDir), "DATA_DIR="+fresh.DataDir, fields)
			program.RunWith(t, settings, nil, "index-search").MustSucceed(t)
			fresh.Run(t, "ignore-email-case").MustSucceed(t)
			want := program.OpenOther(t, fresh.DatabasePath()).Ask(made)
			other := program.OpenOther(t, p.DatabasePath())
			program.Expect(t, "what the database has, and a new one", other.Ask(made), want)

			p.Stop(t) // for an earlier version, whose feed is made again
			other.Do(append([]string{"DROP TABLE users_changes"}, feed...)...)
			other.Do("UPDATE users SET name = 'Of before' WHERE id = 3")
			p = program.Serve(t, "DATA_DIR="+directory, fields)
			expectRemoval(t, p, true)
			p.Do(t, "GET", "/api/users/3", "").Expect(t, 200, `{"id":3,"name":"Of before",…`)
			p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, "…")
			program.Expect(t, "what the database has, and a new one", other.Ask(made), want)
		})
	}
}

func expectAnswers(t *testing.T, p *program.Program) {
	t.Helper()
	const ada, grace = `[{"id":1,"name":"Ada, Countess of Lovelace",…}]`, `[{"id":2,…,"email":"Grace@Example.org",…}]`
	for query, want := range map[string]string{"q=LOVELACE": ada, "q=countess&limit=1": ada, "q=grace@": grace,
		"q=deleted": "[]", "email=GRACE@EXAMPLE.ORG": grace} {
		p.Do(t, "GET", "/api/users?"+query, "").Expect(t, 200, want)
	}
	p.Do(t, "POST", "/api/users", program.Body("Other", "LAST@example.org"), "Accept: application/problem+json").Expect(t, 409, "…")
}

// expectRemoval fails the test unless the log says, or does not say, that something of an earlier version was removed.
func expectRemoval(t *testing.T, p *program.Program, want bool) {
	t.Helper()
	const line = "what an earlier version has made was removed"
	program.Expect(t, "whether the log says what was removed", strings.Contains(p.Log(), line), want)
}

// A users_changes that has other columns is never touched.
func TestATableOfChangesOfAnotherProgramEndsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Stop(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("DROP TABLE users_changes", "CREATE TABLE users_changes (what text)", "INSERT INTO users_changes VALUES ('kept')")
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+p.DataDir),
		"the table users_changes is another program's: rename it, or give users-api another database")
	program.Expect(t, "what it holds", other.Ask("SELECT what FROM users_changes"), "kept")
	p.Run(t, "changes", "restart").ExpectFailure(t, "beginning the feed of changes again, in users_changes, for users in …", "is another program's")
	other.Do("ALTER TABLE users_changes RENAME TO theirs")
	program.Serve(t, "DATA_DIR="+p.DataDir).Create(t, "Ada", "ada@example.org")
}
