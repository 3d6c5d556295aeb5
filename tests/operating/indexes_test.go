package operating

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

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
		{"a change by email", "PATCH", "/api/users/Ada@EXAMPLE.ORG", `{"name":"C"}`, 200, `{"id":1,"name":"C","email":"ADA@example.org",…}`},
		{"a replacement by email leaves its letters", "PUT", "/api/users/ada@example.org", `{"name":"B"}`, 200, `{…"email":"ADA@example.org",…}`},
		{"and may give it others", "PUT", "/api/users/ADA@example.org", program.Body("B", "ada@example.org"), 200, `{…"email":"ada@example.org",…}`},
		{"a creation by email has the letters of its body", "PUT", "/api/users/b@b", program.Body("B", "B@b"), 201, `{…"email":"B@b",…}`},
		{"and no other email", "PUT", "/api/users/c@b", program.Body("B", "d@b"), 400, "…the email in the body must be the same…"},
		{"only ASCII letters count in a path", "GET", "/api/users/%C3%A5@EXAMPLE.ORG", "", 200, `{…"name":"ångström",…}`},
		{"a deletion by email", "DELETE", "/api/users/Ada@Example.org", "", 204, ""},
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

const (
	indexing     = "creating an index for searches, and what keeps it up to date, on users in …"
	indexed      = "done: searches use it from now on, without a restart"
	dropping     = "removing the index for searches, and what keeps it up to date, from users in …"
	droppedIndex = "done: searches look at every user again"
)

// The command may run beside the service, twice, and while it writes. Every answer is as before: tests/api/random_pages_test.go asks
// for many.
func TestSearchesAreAnsweredTheSameWithAnIndexAndWithout(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada Lovelace", "ada@example.org")
	p.Create(t, "Ångström", "a_dd@example.org")
	for _, step := range []struct{ command, will, done string }{
		{"index-search --drop", dropping, droppedIndex}, {"index-search", indexing, indexed}, {"index-search", indexing, indexed},
		{"index-search --drop", dropping, droppedIndex}, {"index-search", indexing, indexed},
	} {
		expectDone(t, p.Run(t, strings.Fields(step.command)...), step.will, step.done)
		knows := program.Serve(t, "DATA_DIR="+p.DataDir) // of the index, which others notice within a second
		for query, want := range map[string]string{"lovelace": "1", "_dd": "1", "ANGSTR%C3%96M": "1", "a_d+EXAMPLE": "1", "xyz": "0"} {
			answer := knows.Do(t, "GET", "/api/users?count=true&q="+query, "")
			program.Expect(t, step.command+", then "+query, answer.Header.Get("X-Total-Count"), want)
		}
	}
	p.Create(t, "Grace", "grace@navy.example")
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (name, email) VALUES ('Barbara', 'liskov@mit.example')")
	p.Do(t, "GET", "/api/users?q=GRACE", "").Expect(t, 200, `[{"id":3,"name":"Grace",…}]`)
	p.Do(t, "GET", "/api/users?q=liskov", "").Expect(t, 200, `[{"id":4,"name":"Barbara",…,"created_at":"20…"}]`)
}

// A command that is killed leaves nothing that a search or a write notices, and the next one makes the index.
func TestAnIndexIsMadeAgainAfterItsCommandWasKilled(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20_000)
	expect := func(query string, want int) {
		t.Helper()
		program.Expect(t, "how many users "+query+" finds", len(p.Do(t, "GET", "/api/users?q="+query, "").Users(t)), want)
	}
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
		expect("user19999@", 1)
		expect("beside", i+1)
	}
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	p.Create(t, "beside", "after")
	expect("beside", 6)
}

// Another program's may have a name of the command's own, or one that begins like it.
func TestWhatIsAnotherProgramsStaysWhenTheIndexIsDropped(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	foreign, named := []string{
		"CREATE TABLE users_search_log (id)", "CREATE TABLE users_search_written (id INTEGER PRIMARY KEY, at TEXT)",
		"CREATE TRIGGER users_search_deleted AFTER DELETE ON users BEGIN INSERT INTO users_search_log VALUES (old.id); END",
		"CREATE TRIGGER users_changes_deleted AFTER DELETE ON users BEGIN INSERT INTO users_search_log VALUES (old.id); END",
	}, "SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_schema WHERE name LIKE 'users_%' ORDER BY 1)"
	if program.PostgreSQL {
		foreign, named = []string{
			"CREATE EXTENSION IF NOT EXISTS pg_trgm", "CREATE INDEX users_search_lower ON users (lower(name))",
			"CREATE INDEX users_search_all ON users USING gin (lower(name || email) gin_trgm_ops)",
			"CREATE INDEX users_search_created_at ON users (created_at)",
		}, "SELECT string_agg(indexname, ',' ORDER BY 1) FROM pg_indexes WHERE tablename = 'users'"
	}
	made := other.Ask(named)
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	program.Expect(t, "what is there without the index", other.Ask(named), made)
	other.Do(foreign...)
	made = other.Ask(named)
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	p.Run(t, "changes", "off").MustSucceed(t)
	program.Expect(t, "what another program has made", other.Ask(named), made)
}

// The command says what it will do before it does it, and what comes next. It may run beside the service, and twice.
func TestChangesAreRecordedAndForgottenBesideTheService(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	const (
		creating = "creating the table users_changes, and triggers that record in it what is written, for users in "
		recorded = "\nchanges are recorded: GET /api/changes has them\n"
		removing = "removing the table users_changes, and the triggers that fill it, for users in "
		removed  = "\nchanges are no longer recorded\n"
	)
	for _, step := range []struct {
		name, argument, first, last string
		status                      int
	}{
		{"off, when changes are not recorded", "off", removing, removed, 404},
		{"on", "on", creating, recorded, 200},
		{"on again", "on", creating, recorded, 200},
		{"off", "off", removing, removed, 404},
	} {
		done := p.Run(t, "changes", step.argument)
		program.Expect(t, step.name, done, program.Outcome{Stderr: step.first + "…" + step.last})
		program.WaitFor(t, step.name, func() bool { return p.Do(t, "GET", "/api/changes", "").Status == step.status })
		for _, path := range []string{"/api/users", "/api/users?limit=1", program.CSV} {
			hasCursor := p.Do(t, "GET", path, "").Header.Get("Changes-Cursor") != ""
			program.Expect(t, step.name+": whether "+path+" has a cursor", hasCursor, step.status == 200)
		}
		p.Create(t, "Ada", step.name)
	}
}

// Entries that are older than CHANGES_KEEP are deleted when the service starts, and once a minute: from the oldest on, up to
// the first that is not old, whatever the clock did meanwhile. One that was written while the clock was ahead keeps none.
func TestOldChangesAreDeleted(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for _, email := range []string{"a", "b", "c", "d", "e"} {
		p.Create(t, "Ada", email)
	}
	var cursor string
	program.WaitFor(t, "the last user is in the feed", func() bool {
		feed := p.Do(t, "GET", "/api/changes", "").Body
		_, cursor, _ = strings.Cut(strings.TrimSuffix(feed, `"}`), `"next":"`)
		return strings.Contains(feed, `"email":"e"`)
	})
	begin := p.Do(t, "GET", "/api/changes?limit=1", "").Body
	other := program.OpenOther(t, p.DatabasePath())
	old, ahead := "1000 * strftime('%s', '2020-01-01')", "1000 * strftime('%s', 'now', '+1 day')"
	if program.PostgreSQL {
		old, ahead = "'2020-01-01'", "now() + '1 day'"
		other.Do("SET users_api.prunes = on") // otherwise no other program may change entries
	}
	other.Do("UPDATE users_changes SET at = "+old+" WHERE id IN (2, 4) OR op = 'begin'",
		"UPDATE users_changes SET at = "+ahead+" WHERE id = 1")
	p.Stop(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir, "CHANGES_KEEP=24h")
	var body string
	program.WaitFor(t, "the old entries are deleted, and the last one is there", func() bool { // other tests may hold it back
		body = p.Do(t, "GET", "/api/changes", "").Body
		return !strings.Contains(body, `"id":2,`) && strings.Contains(body, `"id":5,`)
	})
	program.Expect(t, "the feed", body, `…"id":3,…"id":4,…`)
	begin = strings.TrimSuffix(begin[strings.LastIndex(begin, `:"`)+2:], `"}`)
	p.Do(t, "GET", "/api/changes?after="+begin, "").Expect(t, 410, "…") // what followed is gone
	p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 200, `{"changes":[],…`)
}
