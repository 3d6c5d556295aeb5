package compatibility

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestADatabaseOfAnotherProgramIsServedAndLeftAsItWas(t *testing.T) {
	t.Parallel()
	for name, schema := range foreignSchemas {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			other := program.OpenOther(t, filepath.Join(directory, "users.db"))
			other.Do(slices.Concat([]string{schema}, audits, []string{
				"INSERT INTO users (name, email) VALUES ('A', 'a@b'), ('B', 'b@b'), ('C', 'c@b')",
				"DELETE FROM users WHERE id = 3"})...)
			before := schemaOf(t, directory, other)

			p := program.Serve(t, "DATA_DIR="+directory)
			program.Expect(t, "the new id, after 3 was used", p.Create(t, "D", "d@b"), 4)
			again := p.Do(t, "POST", "/api/users", program.Body("E", "d@b"), "Accept: application/problem+json")
			again.Expect(t, 409, `…"code":"email_used"…`)
			if users := p.ExpectUsers(t, "A", "B", "D"); !program.IsTime(users[2].CreatedAt) {
				t.Errorf("the new user was created at %q", users[2].CreatedAt)
			}
			p.Stop(t)
			other.Do("DROP TABLE users_changes") // all that it has made
			program.Expect(t, "the schema afterwards", schemaOf(t, directory, other), before)
			program.Expect(t, "how often it ran", other.Ask("SELECT count(*) FROM audit WHERE what = 'd@b'"), 1)
		})
	}
}

func TestUsersOfAnotherProgramAreShownAlikeAndCanBeChanged(t *testing.T) {
	t.Parallel()
	for name, columns := range oddTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, other := program.ServeFile(t, "CREATE TABLE users "+columns)
			for _, user := range oddUsers {
				other.Do("INSERT INTO users (id, name, email, created_at) VALUES (" + user.stored + ")")
			}
			listed := func() map[string]string { return program.RawUsers(t, p.Do(t, "GET", "/api/users", "")) }
			program.Expect(t, "how many users are listed", len(listed()), len(oddUsers))
			for id, user := range listed() {
				path := "/api/users/" + id
				i := slices.IndexFunc(oddUsers, func(u oddUser) bool { return program.Matches(user, u.shown) })
				if i < 0 {
					t.Errorf("%s is listed", user)
					continue
				}
				p.Do(t, "GET", path, "").Expect(t, 200, user)
				if !oddUsers[i].empty { // which a body cannot say
					p.Do(t, "PATCH", path, user, "If-Match: "+program.ETag(t, p, id)).Expect(t, 200, user)
				}
				changed := p.Do(t, "PATCH", path, `{"name":"new"}`, "If-Match: "+program.ETag(t, p, id))
				changed.Expect(t, 200, `{"id":`+id+`,"name":"new",…`)
				p.Do(t, "GET", path, "").Expect(t, 200, changed.Body)
				program.Expect(t, "the user in the list after the change", listed()[id], changed.Body)
				p.Do(t, "DELETE", path, "").Expect(t, 204, "")
			}
		})
	}
}

// oddUser is a row of another program, how it is shown, and whether a text of it is empty.
type oddUser struct {
	stored, shown string
	empty         bool
}

func TestAColumnOfAnotherProgramIsServedAsAField(t *testing.T) {
	t.Parallel()
	for _, column := range fieldTypes {
		directory := t.TempDir()
		program.OpenOther(t, filepath.Join(directory, "users.db")).Do(with(ordinaryID+", room "+column),
			"INSERT INTO users (name, email, room) VALUES ('Ada', 'ada', '7')")
		p := program.Serve(t, "DATA_DIR="+directory, "USER_FIELDS=room")
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,"name":"Ada",…,"room":"7"}]`)
		p.Do(t, "PATCH", "/api/users/1", `{"room":"12"}`).Expect(t, 200, `{"id":1,"name":"Ada",…,"room":"12"}`)
		p.Do(t, "GET", "/api/users?room=12", "").Expect(t, 200, `[{"id":1,…]`)
	}
}

// refusedTable is a table of another program that cannot be served, and why.
type refusedTable struct{ schema, why string }

func TestATableThatCannotBeServedEndsTheStartWithOneLine(t *testing.T) {
	t.Parallel()
	for name, table := range refusedTables {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory, settings := t.TempDir(), []string(nil)
			program.OpenOther(t, filepath.Join(directory, "users.db")).Do(table.schema)
			if strings.Contains(strings.ToLower(table.schema), "room") {
				settings = []string{"USER_FIELDS=room"}
			}
			p := program.Launch(t, program.Path(), append(settings, "DATA_DIR="+directory)...)
			program.ExpectRefusal(t, p, "the table users cannot be served: "+table.why)
		})
	}
}

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
			p.Feed(t, "?after="+cursor, entries)
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
			program.Expect(t, "what the database has, and a new one", program.OpenOther(t, p.DatabasePath()).Ask(made), want)
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
