package compatibility

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

func TestATimeThatAnotherProgramStoredIsShownInOneForm(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for i, row := range times {
		other.Do(fmt.Sprintf("INSERT INTO users (name, email, created_at) VALUES ('n', %d, %s)", i, row.stored))
	}
	users := p.List(t)
	if len(users) != len(times) {
		t.Fatalf("%d users of %d are listed", len(users), len(times))
	}
	for i, row := range times {
		if users[i].CreatedAt != row.shown {
			t.Errorf("%s: %s is shown as %q, want %q", row.name, row.stored, users[i].CreatedAt, row.shown)
		}
	}
}

func TestARowThatAnotherProgramInsertsGetsItsTime(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (name, email) VALUES ('n', 'e')")
	if users := p.List(t); !program.IsTime(users[0].CreatedAt) {
		t.Errorf("it was created at %q", users[0].CreatedAt)
	}
}

func TestOddRowsDoNotBreakTheList(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.AnyType)
	p, _ := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at DATETIME)",
		"INSERT INTO users (id, name, email, created_at) VALUES (-3, NULL, NULL, NULL), (5, 1.5, x'c3a9', 'x')",
		"INSERT INTO users (id, name, email, created_at) VALUES (9223372036854775807, CAST(x'ff' AS TEXT), char(0x2028), '')")
	want := `[{"id":-3,"name":"","email":"","created_at":""},{"id":5,"name":"1.5","email":"é","created_at":"x"},` +
		`{"id":9223372036854775807,"name":"\ufffd","email":"\u2028","created_at":""}]`
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, want)
}

func TestAUserAloneIsByteForByteTheUserInTheList(t *testing.T) {
	t.Parallel()
	for name, p := range oddPrograms(t) {
		for id, user := range program.RawUsers(t, p.Do(t, "GET", "/api/users", "")) {
			answer := p.Do(t, "GET", "/api/users/"+id, "").To(name + ": " + id)
			answer.Expect(t, 200, user)
			program.ExpectHeader(t, answer, "Content-Type", "application/json; charset=utf-8")
			program.ExpectHeader(t, answer, "Cache-Control", "no-cache")
			program.ExpectLength(t, answer)
		}
	}
}

// oddPrograms are programs on tables of every kind, with users of every kind.
func oddPrograms(t *testing.T) map[string]*program.Program {
	t.Helper()
	programs := map[string]*program.Program{"usual": program.Serve(t)}
	for _, name := range []string{"Ada", `100% sure_ \ly`, "ÄRGER", "a\x01b<&>"} {
		programs["usual"].Create(t, name, name)
	}
	for name, statements := range oddTables {
		programs[name], _ = program.ServeFile(t, statements...)
	}
	return programs
}
