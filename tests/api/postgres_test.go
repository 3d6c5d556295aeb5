//go:build postgres

package api

import (
	"fmt"
	"testing"

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

// A transaction that commits late has a lower number than one that was read before.
func TestAChangeThatCommitsLateIsNotMissed(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	f := &program.Follower{}
	f.Settle(t, p)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("BEGIN", "SELECT FROM users WHERE id = 1 FOR UPDATE")
	late := p.Begin(t, "POST "+batchPath, batchOf(item(post, program.Body("late", "late")), item(patch, `{"name":"B"}`)))
	watch := program.OpenOther(t, p.DatabasePath())
	program.WaitFor(t, "the batch waits for the lock", func() bool { return watch.Ask(waiting) == "1" })
	p.Create(t, "n", "soon")
	for range 3 {
		program.Must(t, f.Step(p, 0))
	}
	other.Do("COMMIT")
	program.Expect(t, "the batch", (<-late).Body, `{"responses":[{"status":201,…},{"status":200,…}]}`)
	f.Settle(t, p)
	program.Expect(t, "how often the client began", f.Exports, 1)
}

// waiting counts the sessions that wait for a lock.
const waiting = "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// The standby lacks the last writes of the primary, and gives the numbers of their transactions to others. So clients
// that have seen them must begin again, also one that comes back only then.
func TestACopyBeginsAgainOnAStandbyThatLacksSomeOfIt(t *testing.T) {
	t.Parallel()
	const newest = "pg_snapshot_xmax(pg_current_snapshot())::text::int8"
	primary := postgresql.Start(t)
	database := primary.NewDatabase(t)
	standby := primary.Standby(t)
	p := program.Serve(t, "DATABASE_URL="+postgresql.At(t, database, primary, standby))
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

// A request of a batch that waits for another transaction's lock for too long is refused by itself.
func TestARequestOfABatchWhoseUserIsLockedIsRefusedAlone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	p.Create(t, "Alan", "alan")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("BEGIN", "SELECT FROM users WHERE id = 1 FOR UPDATE")
	for i, answer := range sendBatch(t, p, []string{item(patch, named), item("PATCH /api/users/2", named), item(post, sent)}) {
		answer.Expect(t, []int{500, 200, 201}[i], []string{"…lock…nothing was changed…", "…", "…"}[i])
	}
	other.Do("COMMIT")
	p.ExpectUsers(t, "Ada", "B", "A")
	program.Expect(t, "the history", len(historyOf(t, p, 1)), 1)
}

// The server ends the transaction of a deadlock, which begins again, as a whole.
func TestADeadlockLetsAWholeBatchBeginAgain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	p.Create(t, "Alan", "alan")
	other, watch := program.OpenOther(t, p.DatabasePath()), program.OpenOther(t, p.DatabasePath())
	other.Do("SET deadlock_timeout = '1h'", "BEGIN", "SELECT FROM users WHERE id = 2 FOR UPDATE") // so that the batch is ended
	answers := p.Begin(t, "POST "+batchPath, batchOf(item(post, sent), item(patch, named), item("PATCH /api/users/2", named)))
	program.WaitFor(t, "the batch waits for the lock", func() bool { return watch.Ask(waiting) == "1" })
	other.Do("UPDATE users SET name = 'Countess' WHERE id = 1", "COMMIT")
	program.Expect(t, "the statuses", statuses(parts(t, <-answers)), "[201 200 200]")
	p.ExpectUsers(t, "B", "B", "A")
	program.Expect(t, "the history", historyOf(t, p, 1),
		"["+was("changed", 1, `…"before":{"name":"Countess"},"after":{"name":"B"}`)+" "+was("created", 1, "…")+"]")
}

// What only the commit finds out refuses the whole batch.
func TestABatchWhoseCommitFailsStoresNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do(`CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF NEW.name = 'Bad' THEN RAISE 'no Bad users'; END IF; RETURN NULL; END $$`,
		"CREATE CONSTRAINT TRIGGER late AFTER INSERT ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late()")
	batch := batchOf(item(post, sent), item(post, program.Body("Bad", "bad")))
	p.Do(t, "POST", batchPath, batch).Expect(t, 500, `{"error":"ERROR: no Bad users (SQLSTATE P0001)"}`)
	p.ExpectUsers(t)
	sendBatch(t, p, []string{item(post, sent)})[0].Expect(t, 201, "…")
}
