//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

func TestMoreClientsThanConnectionsAreServed(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=20")
	setting := "DATABASE_URL=" + server.NewDatabase(t)
	var all []*program.Program
	for range 3 { // with 24 connections at most
		all = append(all, program.Serve(t, setting))
	}
	var wait sync.WaitGroup
	for client := range 200 {
		wait.Go(func() {
			for n := range 3 {
				email := fmt.Sprintf("%d-%d", client, n)
				created, err := all[client%3].Send("POST", "/api/users", program.Body("n", email))
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
