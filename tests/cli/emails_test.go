package cli

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

const (
	ignoringCase = "creating the unique index users_email_nocase, which ignores the case of A to Z, on users in …"
	problem      = "Accept: application/problem+json"
)

// ignoreCase lets the database ignore the case of emails, and returns once the service has noticed.
func ignoreCase(t *testing.T, p *program.Program) {
	t.Helper()
	p.Create(t, "probe", "probe")
	expectDone(t, p.Run(t, "ignore-email-case"), ignoringCase,
		"done: a running service follows it within 5 s, without a restart")
	var found []program.User
	program.WaitFor(t, "the case is ignored", func() bool {
		found = p.Do(t, "GET", "/api/users?email=PROBE", "").Users(t)
		return len(found) == 1
	})
	p.Delete(t, found[0].ID)
}

func TestARunningServiceIgnoresTheCaseOfEmails(t *testing.T) {
	t.Parallel()
	const ada = `[{"id":1,"name":"Ada","email":"ada@example.org",…}]`
	const used = `…Email is already used by another user…`
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	for range 8 { // each connection knows the table as it was
		p.Do(t, "GET", "/api/users?email=ADA@EXAMPLE.org", "")
		p.Do(t, "GET", "/api/users", "")
	}
	ignoreCase(t, p)
	ignoreCase(t, p) // a second time changes nothing
	p.Create(t, "Ångström", "Å@example.org")
	p.Create(t, "ångström", "å@Example.org") // only A to Z have a case here
	p.Do(t, "POST", "/api/users", program.Body("n", "ADA@example.org")).Expect(t, 500, "…constraint…users…email…")
	for _, test := range []struct {
		name, method, path, body string
		status                   int
		want                     string
	}{
		{"a search by email", "GET", "/api/users?email=ADA@EXAMPLE.org", "", 200, ada},
		{"another letter", "GET", "/api/users?email=å@EXAMPLE.ORG", "", 200, `[{…"name":"ångström","email":"å@Example.org",…}]`},
		{"a search in texts", "GET", "/api/users?q=alan@EXAMPLE", "", 200, `[{"id":2,"name":"Alan",…}]`},
		{"a count", "GET", "/api/users?email=ADA@EXAMPLE.org&count=true&limit=1", "", 200, ada},
		{"an export", "GET", "/api/users.csv?email=Ada@example.ORG", "", 200, "id,…\r\n1,Ada,ada@example.org,…\r\n"},
		{"a creation", "POST", "/api/users", program.Body("n", "ADA@example.org"), 409, "…"},
		{"a change", "PATCH", "/api/users/2", `{"email":"Ada@example.org"}`, 409, used},
		{"a replacement", "PUT", "/api/users/2", program.Body("n", "adA@example.org"), 409, used},
		{"a change of the own", "PATCH", "/api/users/1", `{"email":"ADA@example.org"}`, 200, `{"id":1,"name":"Ada","email":"ADA@example.org",…}`},
		{"an import", "POST", "/api/users.csv?on_conflict=update", "name,email\nAda K,ada@EXAMPLE.org\n", 200, program.Imported(0, 1, 0, 0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.Do(t, test.method, test.path, test.body, problem).Expect(t, test.status, test.want)
		})
	}
}

func TestImportsIgnoreTheCaseOfEmails(t *testing.T) {
	t.Parallel()
	const rows = "name,email\nAda K,ADA@example.org\nNew,new@example.org\nNew N,NEW@example.org\n"
	p := program.Serve(t)
	ignoreCase(t, p)
	other := program.OpenOther(t, p.DatabasePath())
	for name, test := range map[string]struct{ parameters, want, users string }{
		"a row whose email exists is refused": {"", `…"line":2,…"line":4,…`, "Ada ada@, Alan alan@, Zoe zoe@"},
		"or skipped": {"?on_conflict=skip", program.Imported(1, 0, 2, 0),
			"Ada ada@, Alan alan@, Zoe zoe@, New new@"},
		"or updates": {"?on_conflict=update", program.Imported(1, 2, 0, 0),
			"Ada K ada@, Alan alan@, Zoe zoe@, New N new@"},
		"users whose email is not in the file are deleted": {"?on_conflict=update&on_missing=delete&max_deletes=2",
			`{"created":1,"updated":2,"skipped":0,"deleted":2,…}`, "Ada K ada@, New N new@"},
		"a dry run stores nothing": {"?on_conflict=update&dry_run=true", program.Imported(1, 2, 0, 0),
			"Ada ada@, Alan alan@, Zoe zoe@"},
	} {
		t.Run(name, func(t *testing.T) {
			other.Empty()
			for _, name := range []string{"Ada", "Alan", "Zoe"} {
				p.Create(t, name, strings.ToLower(name)+"@example.org")
			}
			program.Expect(t, "the answer", p.Do(t, "POST", program.CSV+test.parameters, rows).Body, test.want)
			var users []string
			for _, user := range p.List(t) {
				users = append(users, user.Name+" "+strings.TrimSuffix(user.Email, "example.org"))
			}
			program.Expect(t, "the users", strings.Join(users, ", "), test.users)
		})
	}
}

// Of many, the first 100 are named. Nothing is changed before none collide.
func TestEmailsThatCollideAreNamedByTheirIDs(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for i, email := range []string{"secret@a", "alan@a", "SECRET@a", "zoe@a", "Secret@A", "ZOE@A", "Å@a", "å@a"} {
		p.Create(t, fmt.Sprint("Secret ", i), email)
	}
	failed := p.Run(t, "ignore-email-case")
	failed.ExpectFailure(t, ignoringCase, "nothing was changed", "the users have the ids 1, 3, 5, 4, 6\n")
	program.Forbid(t, failed.Stderr, "ecret", "SECRET", "zoe", "ZOE")
	p.Create(t, "Alan", "ALAN@a") // the case still counts
	rows := "name,email\n"
	for i := range 101 {
		rows += fmt.Sprintf("n,a%d@x\nn,A%d@x\n", i, i)
	}
	p.Do(t, "POST", program.CSV, rows)
	failed = p.Run(t, "ignore-email-case")
	failed.ExpectFailure(t, ignoringCase, "the users have the ids ", " and others\n")
	if ids := strings.Count(failed.Stderr, ", ") - strings.Count(ignoringCase, ", "); ids < 99 || ids > 105 {
		t.Errorf("it names other than 100 ids: %s", failed.Stderr)
	}
	p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=1000", "name,email\nAda,a@a\n").Expect(t, 200, "…")
	ignoreCase(t, p)
}
