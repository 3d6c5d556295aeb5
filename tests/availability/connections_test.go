//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/failing"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// The certificate is checked when the URL asks for it, and a server that wants encryption gets it.
func TestAConnectionIsEncryptedAndTheServerChecked(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	database := server.NewDatabase(t)
	root := server.RequireTLS(t)
	checked := program.Serve(t, "DATABASE_URL="+database+"?sslmode=verify-full&sslrootcert="+root)
	checked.Create(t, "Ada", "ada@example.org")
	program.Serve(t, "DATABASE_URL="+database).Create(t, "Alan", "alan@example.org") // prefer
	checked.ExpectUsers(t, "Ada", "Alan")
	for parameters, says := range map[string]string{
		"?sslmode=verify-full": "the certificate of the PostgreSQL server is not trusted: name the file",
		"?sslmode=disable":     "pg_hba.conf",
	} {
		p := program.Launch(t, program.Path(), "DATABASE_URL="+database+parameters)
		program.ExpectRefusal(t, p, says)
		program.Forbid(t, p.Log(), "pass/word", "pass%2F")
	}
}

func TestThePasswordOfTheDatabaseIsNeverShown(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, postgresql.Scram)
	p, url := onServer(t, server, "LOG_LEVEL=debug", "ADMIN_PORT=0")
	if !strings.Contains(p.Line(t, "listening"), fmt.Sprintf("database=postgres://127.0.0.1:%d/users", server.Port)) {
		t.Errorf("the log does not name the database:\n%s", p.Log())
	}
	p.Create(t, "Ada", "ada@example.org")
	server.Stop(t)
	refused := p.Do(t, "GET", "/api/users", "").Body
	server.StartAgain(t)
	wrong := program.Launch(t, program.Path(), "DATABASE_URL="+strings.Replace(url, "users@", "users%21@", 1))
	program.ExpectRefusal(t, wrong, "check the user and the password")
	missing := program.Launch(t, program.Path(), "DATABASE_URL="+server.URL("nowhere"))
	program.ExpectRefusal(t, missing, "nowhere", "createdb")
	metrics := program.AskAdmin(t, p, "/metrics").Body
	for _, text := range []string{p.Log(), refused, wrong.Log(), missing.Log(), metrics} {
		program.Forbid(t, text, "pass/word", "pass%2F", "the%23users", "the#users")
	}
}

func TestTheDataDirectoryIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "RUN_AS=65534") // as root, it becomes another user
	p.Do(t, "POST", program.CSV, "name,email\nAlan,alan\n").Expect(t, 200, "…")
	p.Do(t, "GET", program.CSV, "").Expect(t, 200, "…Alan…")
	p.Stop(t)
	program.ExpectNoDirectory(t, p.DataDir)
}

func TestMoreClientsThanConnectionsAreServed(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=20")
	setting := "DATABASE_URL=" + server.NewDatabase(t)
	var all []*program.Program
	for range 3 { // with 24 connections at most
		all = append(all, program.Serve(t, setting))
	}
	var wait sync.WaitGroup
	var late atomic.Int64 // on a busy machine
	for client := range 200 {
		wait.Go(func() {
			for n := range 3 {
				email := fmt.Sprintf("%d-%d", client, n)
				created := all[client%3].Do(t, "POST", "/api/users", program.Body("n", email))
				for strings.Contains(created.Body, "did not do it in time") && late.Add(1) < 30 {
					created = all[client%3].Do(t, "POST", "/api/users", program.Body("n", email))
				}
				created.Expect(t, 201, "…")
				all[(client+1)%3].Do(t, "GET", "/api/users?email="+email, "").Expect(t, 200, `[{"id":…,"email":"`+email+`",…}]`)
			}
		})
	}
	wait.Wait()
}

// Administrators let PostgreSQL end transactions that do nothing for a while. A slow client has none: also not of an
// export, of which TestASlowReaderOfAnExportGetsOneMomentAndHoldsNothing says so.
func TestASlowImportHoldsNoTransactionThatPostgreSQLCouldEnd(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+url+"?idle_in_transaction_session_timeout=1s")
	slow := p.Dial(t)
	slow.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\nname,email\r\nAda,ada@example.org", program.CSV)
	postgresql.SQL(t, url, "SELECT pg_sleep(2)") // longer than the server allows, for a session in a transaction
	slow.Send("\r\n\r\n")
	slow.Answer().Expect(t, 200, program.Imported(1, 0, 0, 0))
}

// Other programs have other parameters. What cannot work ends the start, without a wait for a server that is there.
func TestAParameterThatCannotWorkIsNamedWithWhatToDo(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	const correct = ": correct it in DATABASE_URL, or take it out; search_path names the schema there, and %20 is a blank"
	for parameters, says := range map[string]string{
		"pgbouncer=true":                  `parameter \"pgbouncer\"` + correct,
		"options=-c+search_path%3Dpublic": `parameter \"+search_path\"` + correct,
		"sslmode=no-verify":               "DATABASE_URL cannot be used: failed to configure TLS (sslmode is invalid)",
		"search_path=nowhere":             "no schema has been selected to create in" + correct,
	} {
		t.Run(parameters, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), "DATABASE_URL="+url+"?"+parameters)
			program.ExpectRefusal(t, p, says)
			program.Forbid(t, p.Log(), "waiting for PostgreSQL")
		})
	}
}

// The first requests after a while find only connections that a NAT or a firewall has forgotten.
func TestTheFirstRequestsAfterAllConnectionsWereForgottenAreAnswered(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	statements := &failing.Statements{}
	p := program.Serve(t, "DATABASE_URL="+failing.Server(t, url, statements))
	id := p.Create(t, "Ada", "ada@example.org")
	end := postgresql.Hold(t, url, "UPDATE users SET name = 'n'")
	var writes sync.WaitGroup
	for range 6 {
		writes.Go(func() { p.Change(t, id, `{"name":"Ada King"}`) })
	}
	const others = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'users-api'`
	is := func(condition string) func() bool {
		return func() bool { return postgresql.Ask(t, url, "SELECT ("+condition+")::text") == "true" }
	}
	program.WaitFor(t, "six writes wait", is("SELECT count(*) = 6 "+others+" AND wait_event_type = 'Lock'"))
	end()
	writes.Wait()
	program.WaitFor(t, "all are idle", is("SELECT count(*) >= 6 AND min(now() - state_change) > '1.5s' "+others))
	statements.Forget()
	p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, `…"Ada King"…`)
	p.Create(t, "Alan", "alan@example.org")
}

func TestAPageWhoseConnectionEndsInTheMiddleIsReadAgain(t *testing.T) {
	t.Parallel()
	statements := &failing.Statements{}
	p := program.Serve(t, "DATABASE_URL="+failing.Server(t, postgresql.Shared(t).NewDatabase(t), statements))
	for i := range 100 {
		p.Create(t, strings.Repeat("n", 10_000), fmt.Sprint(i))
	}
	whole := p.Do(t, "GET", "/api/users?limit=90", "").Body
	statements.Cut(500_000)
	p.Do(t, "GET", "/api/users?limit=90", "").Expect(t, 200, whole)
	statements.Cut(500_000)
	p.Do(t, "GET", "/api/users?limit=90&count=true", "").Expect(t, 500, program.ErrorBody("…")) // in a transaction
}
