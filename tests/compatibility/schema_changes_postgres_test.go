//go:build postgres

package compatibility

import (
	"fmt"
	"slices"
	"testing"

	"users-api/tests/program"
)

// Another program truncates the table, changes it, and puts another in its place.
func TestATableThatAnotherProgramChangesIsServedAsItIs(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for round, statement := range []string{
		"TRUNCATE users",
		"ALTER TABLE users ADD COLUMN room text DEFAULT '-'",
		"ALTER TABLE users ALTER COLUMN name TYPE varchar(99)",
		"ALTER TABLE users ALTER COLUMN id TYPE integer",
		"ALTER TABLE users ALTER COLUMN created_at TYPE timestamp",
		"ALTER TABLE users ALTER COLUMN created_at TYPE text",
		"BEGIN; DROP TABLE users; CREATE TABLE users (email text UNIQUE, id bigserial PRIMARY KEY, name text, created_at timestamptz); COMMIT",
		"BEGIN; ALTER TABLE users RENAME TO old; CREATE TABLE users (LIKE old INCLUDING ALL); INSERT INTO users SELECT * FROM old; COMMIT",
		"VACUUM FULL users",
		"REINDEX TABLE users",
	} {
		p.Create(t, "Ada", fmt.Sprint(round))
		p.List(t)
		other.Do(statement)
		want := other.Ask("SELECT count(*) FROM users")
		if users := p.List(t); fmt.Sprint(len(users)) != want {
			t.Errorf("after %s %d users are listed of %s", statement, len(users), want)
		}
		id := p.Create(t, "Alan", fmt.Sprint("alan", round))
		p.Change(t, id, `{"name":"Turing"}`)
		contains := func(user program.User) bool { return user.ID == id && user.Name == "Turing" }
		if list := p.List(t); !slices.ContainsFunc(list, contains) {
			t.Errorf("after %s and a change the list is %v", statement, list)
		}
	}
}
