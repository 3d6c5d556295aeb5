package operating

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

const (
	ignoringCase = "creating the unique index users_email_nocase, which ignores the case of A to Z, on users in …"
	problem      = "Accept: application/problem+json"
)

// ignoreCase lets the database ignore the case of emails, and starts the service again.
func ignoreCase(t *testing.T, p *program.Program) *program.Program {
	t.Helper()
	expectDone(t, p.Run(t, "ignore-email-case"), ignoringCase, "done: a running service follows it from its next start on")
	p.Stop(t)
	return program.Serve(t, "DATA_DIR="+p.DataDir)
}

func TestAServiceIgnoresTheCaseOfEmailsOnceItIsStartedAgain(t *testing.T) {
	t.Parallel()
	const ada = `[{"id":1,"name":"Ada","email":"ada@example.org",…}]`
	const used = `…Email is already used by another user…`
	first := program.Serve(t)
	first.Create(t, "Ada", "ada@example.org")
	first.Create(t, "Alan", "alan@example.org")
	first.Run(t, "ignore-email-case").MustSucceed(t)
	first.Do(t, "POST", "/api/users", program.Body("n", "ADA@example.org"), problem).Expect(t, 409, `…"code":"email_used"…`)
	p := ignoreCase(t, first) // a second time changes nothing
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
		{"a creation", "POST", "/api/users", program.Body("n", "ADA@example.org"), 409, "…"},
		{"a change", "PATCH", "/api/users/2", `{"email":"Ada@example.org"}`, 409, used},
		{"a change of the own", "PATCH", "/api/users/1", `{"email":"ADA@example.org"}`, 200, `{"id":1,"name":"Ada","email":"ADA@example.org",…}`},
		{"an import", "POST", "/api/users.csv?on_conflict=update", "name,email\nAda K,ada@EXAMPLE.org\n", 200, program.Imported(0, 1, 0, 0)},
		{"an import of two other letters", "POST", "/api/users.csv?on_conflict=skip", "name,email\nn,Ä@x\nn,ä@x\n", 200, program.Imported(2, 0, 0, 0)},
		{"an import that skips", "POST", "/api/users.csv?on_conflict=skip", "name,email\nn,ada@EXAMPLE.org\n", 200, program.Imported(0, 0, 1, 0)},
		{"one that refuses, also within the file", "POST", "/api/users.csv", "name,email\nn,n@x\nn,N@x\nn,ada@EXAMPLE.org\n", 422, `…"line":3,…"line":4,…`},
		{"a change by email", "PATCH", "/api/users/Ada@EXAMPLE.ORG", `{"name":"C"}`, 200, `{"id":1,"name":"C","email":"ADA@example.org",…}`},
		{"a replacement by email leaves its letters", "PUT", "/api/users/ada@example.org", `{"name":"B"}`, 200, `{…"email":"ADA@example.org",…}`},
		{"and may give it others", "PUT", "/api/users/ADA@example.org", program.Body("B", "ada@example.org"), 200, `{…"email":"ada@example.org",…}`},
		{"a creation by email has the letters of its body", "PUT", "/api/users/b@b", program.Body("B", "B@b"), 201, `{…"email":"B@b",…}`},
		{"a deletion by email", "DELETE", "/api/users/Ada@Example.org", "", 204, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.Do(t, test.method, test.path, test.body, problem).Expect(t, test.status, test.want)
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
	rows := "name,email\n"
	for i := range 101 {
		rows += fmt.Sprintf("n,a%d@x\nn,A%d@x\n", i, i) // the case still counts
	}
	p.Do(t, "POST", program.CSV, rows).Expect(t, 200, "…")
	failed = p.Run(t, "ignore-email-case")
	failed.ExpectFailure(t, ignoringCase, "the users have the ids ", " and others\n")
	if ids := strings.Count(failed.Stderr, ", ") - strings.Count(ignoringCase, ", "); ids < 99 || ids > 105 {
		t.Errorf("it names other than 100 ids: %s", failed.Stderr)
	}
}

const (
	indexing     = "creating an index for searches, and what keeps it up to date, on users in …"
	indexed      = "done: searches use it from the next start of the service on"
	dropping     = "removing the index for searches, and what keeps it up to date, from users in …"
	droppedIndex = "done: searches look at every user again"
)

// A command that is killed leaves nothing that a search or a write notices, and the next one makes the index, in which is what
// anybody writes. tests/api/random_pages_test.go asks it.
func TestAnIndexIsMadeAgainAfterItsCommandWasKilled(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(20_000)
	for i := range 5 {
		killed := exec.Command(program.Path(), "index-search")
		killed.Env = append(program.EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir)
		says, err := killed.StderrPipe()
		program.Must(t, errors.Join(err, killed.Start()))
		_, err = says.Read(make([]byte, 1)) // what it is going to do
		program.Must(t, err)
		kill := time.AfterFunc(time.Duration(30*i)*time.Millisecond, func() { _ = killed.Process.Kill() })
		p.Create(t, "beside", fmt.Sprint("beside", i))
		_ = killed.Wait()
		kill.Stop()
		p.Do(t, "GET", "/api/users?q=user19999@", "").Expect(t, 200, "[{…}]")
		program.Expect(t, "how many are found", len(p.Do(t, "GET", "/api/users?q=beside", "").Users(t)), i+1)
	}
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	p = p.Again(t)
	other.Do("INSERT INTO users (name, email) VALUES ('beside', 'another program')")
	program.Expect(t, "how many the index finds", len(p.Do(t, "GET", "/api/users?q=beside", "").Users(t)), 6)
}

// What saves a damaged file, or loads a dump, may leave parts of the index, and then every write fails.
func TestWhateverIsLeftOfAnIndexIsRemovedAndMadeAgain(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	const table = `PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'users_search'; PRAGMA writable_schema = RESET; `
	for name, lost := range map[string]string{
		"its table": table,
		"all of these": "DROP TABLE users_search_config; DROP TABLE users_search_data; DROP TABLE users_search_idx; " +
			"DROP TABLE users_search_docsize",
		"a trigger":   "DROP TRIGGER users_search_changed",
		"its letters": "DROP TABLE users_search_letters",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			p.Run(t, "index-search").MustSucceed(t)
			p.Stop(t)
			program.OpenOther(t, p.DatabasePath()).Do(lost)
			p = program.Serve(t, "DATA_DIR="+p.DataDir)
			p.WaitForLog(t, "run `users-api index-search`, which makes it anew")
			p.Do(t, "GET", "/api/users?q=ada", "").Expect(t, 200, `[{"id":1,…}]`)
			p.Run(t, "index-search", "--drop").MustSucceed(t)
			p = p.Again(t)
			p.Create(t, "Alan", "alan@example.org")
			p.Run(t, "index-search").MustSucceed(t)
			p = p.Again(t)
			program.Forbid(t, p.Log(), "index-search")
			p.Delete(t, 1)
			p.Do(t, "GET", "/api/users?q=ALAN", "").Expect(t, 200, `[{"id":2,…}]`)
			program.ExpectIntact(t, p.DatabasePath())
		})
	}
}

// Another program's may have a name that begins like the command's own.
func TestWhatIsAnotherProgramsStaysWhenTheIndexIsDropped(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	foreign, named := "CREATE TABLE users_search_log (id)",
		"SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_schema WHERE name LIKE 'users_%' ORDER BY 1)"
	if program.PostgreSQL {
		foreign = "CREATE INDEX users_search_created_at ON users (created_at)"
		named = "SELECT string_agg(indexname, ',' ORDER BY 1) FROM pg_indexes WHERE tablename = 'users'"
	}
	other.Do(foreign)
	made := other.Ask(named)
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	p.Run(t, "changes", "restart").MustSucceed(t) // which removes what earlier versions have made
	program.Expect(t, "what another program has made", other.Ask(named), made)
}

// Older entries are deleted when the service starts, and once a minute. Of the newest the values go and the place stays: whoever
// has seen it has missed nothing.
func TestOldChangesAreDeleted(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, email := range []string{"a", "b", "c"} {
		p.Create(t, "Ada", email)
	}
	p.Delete(t, 3)
	last := regexp.MustCompile(`"next":"([^"]+)"`)
	cursor := func(query, has string) (next string) { return last.FindStringSubmatch(p.Feed(t, query, has))[1] }
	newest, begin := cursor("", `…"op":"deleted"…`), cursor("?limit=1", `…"id":1,…`)
	other := program.OpenOther(t, p.DatabasePath())
	for _, step := range []struct{ old, left, feed string }{
		{"user_id = 2", "2", `{"changes":[{…"op":"created","id":3,…},{…"op":"deleted","id":3,…}],…`}, // and the one before, as if of a clock that was ahead
		{"op = 'deleted'", "1", `{"changes":[{…,"op":"deleted","id":3,…}],…`},
	} {
		other.Do("UPDATE users_changes SET at = 1577836800000 WHERE " + step.old)
		p = p.Again(t, "CHANGES_KEEP=24h")
		program.WaitFor(t, "the old entries are deleted", func() bool {
			return other.Ask("SELECT count(*) || '' FROM users_changes WHERE seq > 0") == step.left
		})
		cursor("", step.feed)
		p.Do(t, "GET", "/api/changes?after="+begin, "").Expect(t, 410, "…") // what followed is gone
	}
	newest = newest[:strings.LastIndex(newest, ".")] + ".1577836800000" // of which the time is a part
	p.Do(t, "GET", "/api/changes?after="+newest, "").Expect(t, 200, `{"changes":[],…`)
	p.Do(t, "GET", "/api/users/3/changes", "").
		Expect(t, 200, `{"changes":[{"cursor":…,"op":"deleted","id":3,"at":"2020-01-01 00:00:00","by":null,"request":"…"}]}`)
	p.Do(t, "GET", "/api/users/deleted", "").Expect(t, 200, "[]")
	p.Do(t, "POST", "/api/users/3/restore", "", problem).Expect(t, 404, `…"code":"not_deleted"…`)
}

func TestWithoutChangesNothingIsKeptAndALaterStartBeginsAnew(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	cursor := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	other := program.OpenOther(t, p.DatabasePath())
	p = p.Again(t, "CHANGES_KEEP=0")
	p.WaitForLog(t, `level=WARN msg="CHANGES_KEEP is 0: what was recorded is deleted now…`)
	p.Create(t, "Alan", "alan")
	program.WaitFor(t, "all entries are deleted", func() bool { return other.Ask("SELECT count(*) || '' FROM users_changes") == "0" })
	p = p.Again(t, "CHANGES_KEEP=0")
	program.Forbid(t, p.Log(), "level=WARN")
	p = p.Again(t)
	p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 410, "…")
	p.Create(t, "Grace", "grace")
	p.Do(t, "GET", "/api/users/3/changes", "").Expect(t, 200, `{"changes":[{…"op":"created"…}]}`)
}
