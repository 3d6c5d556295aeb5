//go:build postgres

package compatibility

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"testing"

	"users-api/tests/program"
)

// What PostgreSQL does in another way than SQLite, and what docs/postgresql.md says of it.

func TestARefusedCreationLeavesAGapInTheIDs(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	first := p.Create(t, "Ada", "ada@example.org")
	p.Do(t, "POST", "/api/users", program.Body("Other", "ada@example.org")).Expect(t, 500, "…")
	if next := p.Create(t, "Alan", "alan@example.org"); next <= first+1 {
		t.Errorf("after %d and a refusal the next user has the id %d", first, next)
	}
}

// An index of PostgreSQL holds no value of more than a third of a page.
func TestAnEmailThatIsTooLongForTheIndexIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	long := ""
	for i := range 600 {
		long += fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(i))))[:10]
	}
	p.Do(t, "POST", "/api/users", program.Body("Ada", long)).Expect(t, 500, "…(SQLSTATE 54000)…")
	p.ExpectUsers(t)
}

// A sequence does not know which ids another program has chosen.
func TestAnIDThatAnotherProgramChoseMayBeGivenAgainAndIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (id, name, email) VALUES (1, 'n', 'other')")
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org")).Expect(t, 500,
		`…duplicate key value violates unique constraint \"users_pkey\"…`)
	if id := p.Create(t, "Ada", "ada@example.org"); id != 2 {
		t.Errorf("the second creation gets the id %d", id)
	}
}

// Names that are not written in quotes are in lower case, so that "Users" is another table.
func TestATableInAnotherLetterCaseIsAnotherTable(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, `CREATE TABLE "Users" (id bigserial, name text, email text, created_at timestamptz)`,
		`INSERT INTO "Users" (name, email) VALUES ('n', 'e')`)
	p.ExpectUsers(t)
	if tables := other.Ask("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); tables != "2" {
		t.Errorf("there are %s tables", tables)
	}
}

// A time of the table that another program writes is rounded to the second by PostgreSQL, and cut by SQLite.
func TestAFractionOfASecondIsRoundedWhenItIsStored(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do(fmt.Sprintf("INSERT INTO users (name, email, created_at) VALUES ('n', 'e', '%s')",
		"2024-01-02 03:04:05.678Z"))
	if shown := p.List(t)[0].CreatedAt; shown != "2024-01-02 03:04:06" {
		t.Errorf("it is shown as %s", shown)
	}
}
