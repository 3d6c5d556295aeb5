//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
	for _, setting := range []string{"RUN_AS=0", "RUN_AS=65534"} { // as root, the second becomes another user
		p := program.Serve(t, setting)
		p.Create(t, "Ada", "ada@example.org")
		p.Do(t, "GET", program.CSV, "")
		p.Do(t, "POST", program.CSV, "name,email\nAlan,alan\n")
		p.Stop(t)
		program.ExpectNoDirectory(t, p.DataDir)
	}
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
				created, err := all[client%3].Send("POST", "/api/users", program.Body("n", email))
				for strings.Contains(created.Body, "did not do it in time") && late.Add(1) < 30 {
					created, err = all[client%3].Send("POST", "/api/users", program.Body("n", email))
				}
				found, failed := all[(client+1)%3].Send("GET", "/api/users?email="+email, "")
				if err != nil || failed != nil || created.Status != 201 ||
					!program.Matches(found.Body, `[{"id":…,"email":"`+email+`",…}]`) {
					t.Errorf("%s is created with %d %s, %v, and found with %d %s, %v", email,
						created.Status, created.Body, err, found.Status, found.Body, failed)
				}
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

// The service has time limits of its own. One that the URL sets holds, and its error is the server's.
func TestATimeLimitOfTheServerHoldsWhereTheURLSetsIt(t *testing.T) {
	t.Parallel()
	p, url := onServer(t, postgresql.Shared(t))
	p.Stop(t) // it has made the table
	name := url[strings.LastIndex(url, "/")+1:]
	postgresql.SQL(t, url, fmt.Sprintf("ALTER DATABASE %s SET statement_timeout = '1s'", name),
		"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN new; END'",
		"CREATE TRIGGER slow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION slow()")
	program.Serve(t, "DATABASE_URL="+url).Create(t, "n", "e")
	limited := program.Serve(t, "DATABASE_URL="+url+"?statement_timeout=1s")
	limited.Do(t, "POST", "/api/users", program.Body("n", "f")).Expect(t, 500,
		"…canceling statement due to statement timeout (SQLSTATE 57014)…")
}

// Other programs have other parameters. What cannot work ends the start, without a wait for a server that is there.
func TestAParameterThatCannotWorkIsNamedWithWhatToDo(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	const correct = ": correct it in DATABASE_URL, or take it out; search_path names the schema there, and %20 is a blank"
	for parameters, says := range map[string]string{
		"pgbouncer=true":                  `parameter \"pgbouncer\"` + correct,
		"schema=public":                   `parameter \"schema\"` + correct,
		"statement_timeout=soon":          `parameter \"statement_timeout\": \"soon\"` + correct,
		"options=-c+search_path%3Dpublic": `parameter \"+search_path\"` + correct,
		"sslmode=no-verify":               "DATABASE_URL cannot be used: failed to configure TLS (sslmode is invalid)",
		"connect_timeout=soon":            "DATABASE_URL cannot be used: invalid connect_timeout",
		"pool_max_conns=many":             "DATABASE_URL cannot be used: cannot parse pool_max_conns",
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

func TestABlankInAParameterIsSentAsOne(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, "CREATE SCHEMA app")
	for _, options := range []string{"-c%20search_path%3Dapp", "-csearch_path=app"} {
		program.Serve(t, "DATABASE_URL="+url+"?options="+options).Create(t, "Ada", options)
	}
	program.Expect(t, "the users in the schema", postgresql.Ask(t, url, "SELECT count(*)::text FROM app.users"), 2)
}

// Administrators take this right from everybody. Then nobody notices that a dump has brought the entries of another cluster, and
// the feed goes on.
func TestWithoutARightToNameTheClusterTheFeedGoesOn(t *testing.T) {
	t.Parallel()
	p, url := onServer(t, postgresql.Start(t))
	as := postgresql.AsAnotherRole(t, url)
	postgresql.SQL(t, url, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON users_changes TO PUBLIC")
	cursor := p.Do(t, "GET", "/api/users", "").Header.Get("Changes-Cursor")
	for _, each := range []string{as, url, as} { // the owner of this server may still do it
		p = program.Serve(t, "DATABASE_URL="+each)
		id := p.Create(t, "Ada", "ada@example.org")
		p.Do(t, "GET", "/api/changes?wait=9&after="+cursor, "").Expect(t, 200, fmt.Sprintf(`…"op":"created","id":%d,…`, id))
		p.Delete(t, id)
	}
}
