//go:build postgres

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// What these tests need to know of PostgreSQL. sqlite_test.go is the other side.
const (
	nul, nulEscaped = "chr(1)", "%01" // as an expression and in a URL: PostgreSQL has no NUL
	firstCharacter  = rune(1)         // that a user may have
	timeType        = "timestamptz"   // of created_at
)

// nulStored is what becomes of a NUL byte in a body: PostgreSQL refuses it.
var nulStored = scenario{"NUL is refused by storage", post, `{"name":"\"\\\u0000","email":"a@b"}`, 500,
	`{"error":"ERROR: invalid byte sequence for encoding \"UTF8\": 0x00 (SQLSTATE 22021)"}`}

// nulChanged is what becomes of a NUL byte in a change.
var nulChanged = scenario{"NUL is refused by storage in a change", patch, `{"name":"\u0000"}`, 500, nulStored.answer}

// ofEngine are statements that only PostgreSQL has.
var ofEngine = []string{
	"WITH moved AS (DELETE FROM users WHERE id % 29 = 1 RETURNING name, email) " +
		"INSERT INTO users (name, email) SELECT name, email || 'm' FROM moved",
}

// Without its entries, a user that another program erases would stay in every list, and followers would keep the user.
func TestAnEntryOfTheFeedIsNotErasedWithItsUser(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for i := range 4 {
		p.Create(t, "n", fmt.Sprint(i))
	}
	p.List(t)
	url := program.DatabaseURL(t, p.DataDir)
	for _, erase := range []string{
		"DELETE FROM users WHERE id = 3; DELETE FROM users_changes WHERE id = 3",
		"DELETE FROM users_changes WHERE id = 3",
		"UPDATE users SET name = 'n' WHERE id = 3; UPDATE users_changes SET id = 1 WHERE id = 3",
		"SET session_replication_role = replica; DELETE FROM users_changes",
		"TRUNCATE users_changes",
		"TRUNCATE users, users_changes",
	} {
		conn, err := pgx.Connect(t.Context(), url)
		program.Must(t, err)
		_, err = conn.Exec(t.Context(), erase, pgx.QueryExecModeSimpleProtocol)
		const why = `…they hold no personal data…"users-api changes off" removes them all…`
		program.Expect(t, "the answer to "+erase, err, why)
		_ = conn.Close(t.Context())
	}
	p.ExpectUsers(t, "n", "n", "n", "n")
	postgresql.SQL(t, url, "DELETE FROM users WHERE id = 3")
	list, page, one := p.List(t), p.Do(t, "GET", "/api/users?limit=10", "").Users(t), p.Do(t, "GET", "/api/users/3", "")
	program.Expect(t, "how many are listed, and the answer of the erased", []int{len(list), len(page), one.Status}, []int{3, 3, 404})
	program.WaitFor(t, "the feed has the deletion", func() bool {
		return strings.Contains(p.Do(t, "GET", "/api/changes", "").Body, `"op":"deleted","id":3,`)
	})
}

// Row security could hide entries, and then what they tell of would be missing.
func TestRowSecurityOnTheFeedIsRefused(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Create(t, "Ada", "ada")
	p.List(t)
	postgresql.SQL(t, program.DatabaseURL(t, p.DataDir), "ALTER TABLE users_changes ENABLE ROW LEVEL SECURITY",
		"INSERT INTO users (name, email) VALUES ('Alan', 'alan')")
	const why = "row security is on for users_changes, and may hide entries: disable it"
	p.Do(t, "GET", "/api/users", "").Expect(t, 500, "…"+why+"…")
	program.Expect(t, "changes on", p.Run(t, "changes", "on"), program.Outcome{Code: 1, Stderr: "…" + why + "…"})
	p.Stop(t)
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+p.DataDir), why)
	p.Run(t, "changes", "off").MustSucceed(t)
	program.Serve(t, "DATA_DIR="+p.DataDir)
}

// serveOn starts the program on a database, and lets it record changes.
func serveOn(t *testing.T, url string) *program.Program {
	t.Helper()
	setting := "DATABASE_URL=" + url
	p := program.Serve(t, setting)
	program.RunWith(t, []string{setting}, nil, "changes", "on").MustSucceed(t)
	p.WaitForFeed(t)
	return p
}

// A transaction that commits late has a lower number than one that was read before.
func TestAChangeThatCommitsLateIsNotMissed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	f := &program.Follower{}
	f.Settle(t, p)
	late := program.OpenOther(t, p.DatabasePath())
	late.Do("BEGIN", "INSERT INTO users (name, email) VALUES ('late', 'late')")
	p.Create(t, "n", "soon")
	for range 3 {
		program.Must(t, f.Step(p, 0))
	}
	late.Do("COMMIT")
	f.Settle(t, p)
}

// A crash takes back what is not on the disk, and the numbers of its transactions. No client has seen any of it: each
// goes on from its cursor.
func TestACopyGoesOnAfterACrashOfTheServer(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "synchronous_commit=off", "wal_writer_delay=10s")
	database := server.NewDatabase(t)
	p, f := serveOn(t, database), &program.Follower{}
	for i := range program.Times(3, 30) {
		postgresql.SQL(t, database, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', 'before %d')", i))
		f.Settle(t, p) // nothing follows that would take it to the disk
		server.Kill(t)
		server.StartAgain(t)
		postgresql.SQL(t, database, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', 'after %d')", i))
		f.Settle(t, p)
	}
	program.Expect(t, "how often the client began", f.Exports, 1)
}

// The standby lacks the last writes of the primary, and gives the numbers of their transactions to others. So clients
// that have seen them must begin again, also one that comes back only then.
func TestACopyBeginsAgainOnAStandbyThatLacksSomeOfIt(t *testing.T) {
	t.Parallel()
	const newest = "pg_snapshot_xmax(pg_current_snapshot())::text::int8"
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	p := serveOn(t, postgresql.At(t, database, primary, standby))
	soon := &program.Follower{}
	soon.Settle(t, p)
	primary.AwaitReplay(t, standby)
	standby.Kill(t)
	for i := range 5 {
		p.Create(t, "lost", fmt.Sprint("lost ", i))
	}
	soon.Settle(t, p)
	late := soon.Clone()
	seen := postgresql.Ask(t, primary.URL("postgres"), "SELECT "+newest)
	primary.Kill(t)
	standby.StartAgain(t)
	standby.Promote(t)
	program.WaitFor(t, "the standby is read", func() bool { return p.Do(t, "GET", "/api/users", "").Body == "[]" })
	soon.Settle(t, p)
	for i := 0; postgresql.Ask(t, standby.URL("postgres"), "SELECT "+newest+" > "+seen) != "t"; i++ {
		p.Create(t, "n", fmt.Sprint("after ", i))
	}
	late.Settle(t, p)
	// Otherwise they would go on with a cursor of the primary.
	program.Expect(t, "how often they began", []int{soon.Exports, late.Exports}, []int{2, 2})
}

// Only that no standby has confirmed a commit leaves its outcome open. Whatever else the server warns of, before the commit or
// at its end, the write is done.
func TestAWriteOfWhichTheServerWarnsIsDone(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"in a statement": "ALTER TABLE users ADD CHECK (warns(name))",
		"at the commit": "CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON users " +
			"DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION warns_late()",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			program.OpenOther(t, p.DatabasePath()).Do(
				"CREATE FUNCTION warns(text) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''careful''; RETURN true; END'",
				"CREATE FUNCTION warns_late() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''careful''; RETURN NULL; END'",
				statement)
			p.Do(t, "POST", "/api/users", program.Body("Ada", "a")).Expect(t, 201, "…")
			p.Do(t, "PATCH", "/api/users/1", `{"name":"Augusta"}`).Expect(t, 200, "…")
			p.Do(t, "PATCH", "/api/users/a@b", `{"name":"n"}`).Expect(t, 404, "…")
			p.Do(t, "PUT", "/api/users/a@b", `{"name":"Alan"}`).Expect(t, 201, "…")
			p.Do(t, "POST", program.CSV+"?on_conflict=update", "name,email\nAlan T,a@b\nZoe,z\n").Expect(t, 200, program.Imported(1, 1, 0, 0))
			p.Do(t, "DELETE", "/api/users/1", "").Expect(t, 204, "")
			p.ExpectUsers(t, "Alan T", "Zoe")
		})
	}
}
