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
