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
			if id := p.Create(t, "D", "d@b"); id != 4 {
				t.Errorf("the new user has the id %d, and 3 was the last one used", id)
			}
			again := p.Do(t, "POST", "/api/users", program.Body("D", "d@b"), "Accept: application/problem+json")
			if again.Status != 409 || !strings.Contains(again.Body, "email_used") {
				t.Errorf("a second user with the email is answered %d %s", again.Status, again.Body)
			}
			users := p.List(t)
			if len(users) != 3 || users[0].Name != "A" || users[2].Email != "d@b" || !program.IsTime(users[2].CreatedAt) {
				t.Errorf("the list is %v", users)
			}
			p.Stop(t)
			if after := schemaOf(t, directory, other); after != before {
				t.Errorf("the schema was\n%s\nand is\n%s", before, after)
			}
			if audited := other.Ask("SELECT count(*) FROM audit WHERE what = 'd@b'"); audited != "1" {
				t.Errorf("the trigger ran %s times", audited)
			}
		})
	}
}
