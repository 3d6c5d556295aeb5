//go:build postgres

package availability

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const lag = "users_api_changes_lag_seconds "

// What commits late has a lower number than what was read before: until then, nothing is shown that comes behind it, by
// whichever process. The histories of users wait for nothing.
func TestATransactionThatStaysOpenHoldsTheFeedBack(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t) // others would hold it back, too
	first, url := onServer(t, server, "ADMIN_PORT=0")
	both := []*program.Program{first, program.Serve(t, "DATABASE_URL="+url)}
	cursor := first.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	end := postgresql.Hold(t, server.URL("postgres"), "SELECT pg_current_xact_id()") // in another database
	var want strings.Builder
	for i := range 4 {
		id := both[i%2].Create(t, "n", fmt.Sprint(i))
		fmt.Fprintf(&want, `{…"op":"created","id":%d,…}…`, id)
	}
	feed := func(p *program.Program, wait int) program.Answer {
		return p.Do(t, "GET", fmt.Sprintf("/api/changes?after=%s&wait=%d", cursor, wait), "")
	}
	for _, p := range both {
		feed(p, 1).Expect(t, 200, `{"changes":[],"next":"`+cursor+`"}`)
		p.ExpectUsers(t, "n", "n", "n", "n")
		p.Do(t, "GET", "/api/users/1/changes", "").Expect(t, 200, `{"changes":[{…"op":"created","id":1,…}]}`)
	}
	metrics := func() string { return program.AskAdmin(t, first, "/metrics").Body }
	if !regexp.MustCompile(lag + `0*[1-9.]`).MatchString(metrics()) {
		t.Errorf("the feed was held back for a second, and the metrics are\n%s", metrics())
	}
	end()
	for _, p := range both {
		feed(p, 30).Expect(t, 200, `{"changes":[`+want.String()+`]…`)
	}
	program.WaitFor(t, "the metrics say that nothing is held back", func() bool { return strings.Contains(metrics(), lag+"0\n") })
}

// A dump brings the entries of another cluster, whose transactions have numbers that mean nothing here. A start notices, and
// gives them others: every client exports again, and the histories stay.
func TestEntriesThatADumpHasBroughtAreInTheFeedAnew(t *testing.T) {
	t.Parallel()
	for name, xid := range map[string]string{"higher numbers": "'1000000000000'", "lower numbers": "'3'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, url := onServer(t, postgresql.Shared(t))
			for i := range 3 {
				p.Create(t, "n", fmt.Sprint(i))
			}
			f := &program.Follower{}
			f.Settle(t, p)
			p.Stop(t)
			postgresql.SQL(t, url, `UPDATE users_changes SET "by" = '7' WHERE seq = 0`, "UPDATE users_changes SET xid = "+xid+" WHERE seq > 0")
			p = program.Serve(t, "DATABASE_URL="+url)
			p.Change(t, 1, `{"name":"Ada"}`)
			f.Settle(t, p)
			program.Expect(t, "how often the client began", f.Exports, 2)
			p.Feed(t, "", `…"created","id":1,…"created","id":2,…"created","id":3,…"changed","id":1,…`)
			p.Do(t, "GET", "/api/users/1/changes", "").Expect(t, 200, `{"changes":[{…"op":"changed",…},{…"op":"created",…}]}`)
			p.Stop(t)
			p = program.Serve(t, "DATABASE_URL="+url) // which is not foreign any more
			p.Delete(t, 2)
			f.Settle(t, p)
			program.Expect(t, "how often the client began in the end", f.Exports, 2)
		})
	}
}

// A write that needs what another transaction holds is refused within 5 s, and nothing is changed. Reads go on, even while all
// connections for writes wait.
func TestReadsGoOnWhileAllWritesWait(t *testing.T) {
	t.Parallel()
	p, url := onServer(t, postgresql.Shared(t))
	id := p.Create(t, "Ada", "ada")
	path := fmt.Sprint("/api/users/", id)
	end := postgresql.Hold(t, url, "UPDATE users SET name = 'n'")
	var answers []<-chan program.Answer
	for range 20 {
		answers = append(answers, p.Begin(t, "PATCH "+path, `{"name":"Ada King"}`))
	}
	waiting := `SELECT (count(*) = 6)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	program.WaitFor(t, "six writes wait", func() bool { return postgresql.Ask(t, url, waiting) == "true" })
	for _, read := range []string{path, "/api/users", "/api/users?limit=1", "/api/users?q=a", program.CSV, "/api/changes", path + "/changes",
		"/api/users/deleted"} {
		p.Do(t, "GET", read, "").Expect(t, 200, "…")
	}
	(<-answers[0]).To("the first change").Expect(t, 500, "…")
	p.ExpectUsers(t, "Ada")
	end()
	for _, answer := range answers[1:] {
		<-answer
	}
	p.Change(t, id, `{"name":"Ada King"}`)
}

// With few connections, imports, writes and pages may wait for one another, and one user is read all the same.
func TestOneUserIsReadWhileAllElseWaits(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+url+"?pool_max_conns=4")
	id := p.Create(t, "Ada", "ada@example.org")
	path := fmt.Sprint("/api/users/", id)
	postgresql.Hold(t, url, "UPDATE users SET name = 'n'")
	postgresql.Hold(t, url, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", 0x66696c6573)) // another process imports
	file := program.BeginImport(t, p, program.CSV, "name,email\nAlan,alan@example.org\n")
	deletions := strings.Repeat(fmt.Sprintf(`,{"method":"DELETE","path":%q}`, path), 10)[1:] // each waits 4 s
	for range 4 {
		batch := fmt.Sprintf(`{"requests":[%s]}`, deletions)
		p.Dial(t).Send("POST /api/users/batch HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(batch), batch)
	}
	program.WaitFor(t, "an import and two batches wait", func() bool {
		return postgresql.Ask(t, url, `SELECT (count(*) >= 3)::text FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == "true"
	})
	for _, read := range []string{path, "/api/users/ada@example.org", "/api/users?email=ada@example.org"} {
		p.Do(t, "GET", read, "").Expect(t, 200, `…"name":"Ada",…`)
	}
	_ = file.Close()
}
