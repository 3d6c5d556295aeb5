//go:build postgres

package availability

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// Administrators let PostgreSQL end transactions that do nothing for a while. A slow client has none.
func TestASlowClientHoldsNoTransactionThatPostgreSQLCouldEnd(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	p := program.Serve(t, "DATABASE_URL="+url+"?idle_in_transaction_session_timeout=2s")
	const fill = "INSERT INTO users (name, email) SELECT repeat('n', 200), i::text FROM generate_series(1, 100000) AS i"
	postgresql.SQL(t, url, fill)
	export := p.Dial(t)
	export.Buffer(64 << 10)
	export.Send("GET /api/users.csv HTTP/1.1\r\nHost: users\r\nConnection: close\r\n\r\n")
	export.Begin()
	imported := p.Dial(t)
	imported.Send("POST /api/users.csv HTTP/1.1\r\nHost: users\r\nContent-Length: 35\r\n\r\nname,email\r\nAda,ada@example.org")
	postgresql.SQL(t, url, "SELECT pg_sleep(3)") // longer than the server allows, for a session in a transaction
	imported.Send("\r\n\r\n")
	imported.Answer().Expect(t, 200, "…")
	export.Buffer(4 << 20)
	text, clean := export.Rest()
	if lines := strings.Count(text, ",n"); !clean || lines < 100_000 {
		t.Errorf("%d users came, and the end is clean: %t", lines, clean)
	}
	program.Forbid(t, server.Log(), "idle-in-transaction") // the server ends no transaction
}

// The service has time limits of its own. One that the URL sets holds, and its error is the server's.
func TestATimeLimitOfTheServerHoldsWhereTheURLSetsIt(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	name := url[strings.LastIndex(url, "/")+1:]
	program.Serve(t, "DATABASE_URL="+url).Stop(t) // makes the table
	postgresql.SQL(t, url, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN new; END'",
		"CREATE TRIGGER slow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION slow()",
		fmt.Sprintf("ALTER DATABASE %s SET statement_timeout = '1s'", name))
	program.Serve(t, "DATABASE_URL="+url).Create(t, "n", "e")
	limited := program.Serve(t, "DATABASE_URL="+url+"?statement_timeout=1s")
	limited.Do(t, "POST", "/api/users", program.Body("n", "f")).Expect(t, 500,
		"…canceling statement due to statement timeout (SQLSTATE 57014)…")
}
