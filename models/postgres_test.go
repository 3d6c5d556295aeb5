//go:build postgres

package models_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"users-api/models"
	"users-api/tests/postgresql"
)

// openServer opens a database on a server of its own, after some statements.
func openServer(t testing.TB, server *postgresql.Server, statements ...string) *storage {
	t.Helper()
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, statements...)
	return postgres.openAt(t, models.Database{URL: url}, plain())
}

// begin begins a transaction of another program.
func begin(t testing.TB, s *storage, statements ...string) *sql.Tx {
	t.Helper()
	tx, err := s.other(t, s.at).Begin()
	for _, statement := range statements {
		if err == nil {
			_, err = tx.Exec(statement)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// awaitWaiting waits until sessions of the database wait for a lock.
func awaitWaiting(t testing.TB, s *storage, n int) {
	t.Helper()
	const waiting = "SELECT (count(*) >= %d)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	for deadline := time.Now().Add(time.Minute); postgresql.Ask(t, s.at.URL, fmt.Sprintf(waiting, n)) != "true"; {
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions never waited", n)
		}
	}
}

// Whatever other programs do to the table, nothing that is shown is stale, with the feed and without.
func TestOnPostgreSQLWhatAnotherProgramWritesIsShownAtOnce(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]command{"without the feed": nil, "with the feed": {recordChanges}, "with an index": {indexSearch}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := postgres.open(t, plain(), commands...)
			other := s.other(t, s.at)
			run(t, other, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 1100) n")
			for _, statement := range []string{
				"INSERT INTO users (name, email) VALUES ('new', 'new')", "UPDATE users SET name = 'changed' WHERE id = 700",
				"DELETE FROM users WHERE id = 3", "UPDATE users SET id = -7, email = 'moved' WHERE id = 8",
				"BEGIN; DELETE FROM users WHERE id = 9; ROLLBACK", "VACUUM FULL users",
				"CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE users SET name = name || '!' WHERE id = 1; RETURN NULL; END $$; " +
					"CREATE TRIGGER t AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION spread()",
				"DROP TRIGGER t ON users", "UPDATE users SET name = 'all'",
				"ALTER TABLE users RENAME COLUMN name TO old; ALTER TABLE users ADD COLUMN name text NOT NULL DEFAULT 'empty'",
			} {
				run(t, other, statement)
				s.expectTable(t, statement, other)
				if strings.HasPrefix(statement, "ALTER") {
					run(t, other, "ALTER TABLE users ALTER COLUMN old DROP NOT NULL")
				}
				s.create(t, fmt.Sprint("ours", time.Now().UnixNano()))
				s.expectTable(t, statement+", and a creation", other)
			}
		})
	}
}

func TestOnPostgreSQLTheColumnOfTimesMayHaveSeveralTypes(t *testing.T) {
	t.Parallel()
	for _, created := range []string{"timestamptz", "timestamp", "date", "text", "varchar(30)", "timestamptz(3) DEFAULT now()"} {
		s := openServer(t, postgresql.Shared(t),
			"CREATE TABLE users (id serial PRIMARY KEY, name varchar(20), email text UNIQUE, created_at "+created+")",
			"INSERT INTO users (name, email, created_at) VALUES (NULL, NULL, NULL)")
		id := s.create(t, "ada")
		user, err := s.Get(ctx, id)
		if at, bad := time.Parse(time.DateTime, user.CreatedAt); err != nil || bad != nil || time.Since(at) > 25*time.Hour || time.Since(at) < 0 {
			t.Errorf("%s: %+v, %v", created, user, err)
		}
		if _, err := s.Get(ctx, 1<<40); err == nil || len(s.ids(t, models.Query{After: &models.Place{ID: 1 << 40}})) > 0 {
			t.Errorf("%s: an id that no integer holds: %v", created, err)
		}
		if stored := s.stored(t); len(stored) != 2 || stored[0] != "1 :" {
			t.Errorf("%s: stored are %v", created, stored)
		}
	}
}

func TestOnPostgreSQLTimesHaveItsOwnType(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain())
	const columnType = `SELECT format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = 'users'::regclass AND attname = 'created_at'`
	if got, want := postgresql.Ask(t, s.at.URL, columnType), "timestamp(0) with time zone"; got != want {
		t.Errorf("created_at is a %s, want %s", got, want)
	}
}

func TestASearchWithAnIndexReturnsOnlyTheUsersThatAreWanted(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain(), indexSearch)
	for i := range 4 {
		s.create(t, fmt.Sprint("sought", i))
	}
	for _, query := range []models.Query{{Skip: 1, Limit: 2}, {Skip: 1, Limit: 3}, {Skip: 3, Limit: 1}, {Skip: 2}} {
		all := s.ids(t, models.Query{Contains: "sought"})
		want := all[query.Skip:]
		if query.Limit > 0 {
			want = want[:query.Limit]
		}
		if query.Contains = "sought"; !slices.Equal(s.ids(t, query), want) {
			t.Errorf("after %d of %v, %d are %v", query.Skip, all, query.Limit, s.ids(t, query))
		}
	}
}

// A write that waits for another program's lock is refused after its own time, all others are done, and reads go on.
func TestOnlyTheWriteThatWaitsForALockIsRefused(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain())
	id := s.create(t, "held")
	other := begin(t, s, "INSERT INTO users (name, email) VALUES ('n', 'same')", "UPDATE users SET name = 'x' WHERE email = 'held'")
	began := time.Now()
	expectRefused := func(what string, err error) {
		took, failed := time.Since(began), refusal(err)
		if failed == nil || failed.Unknown || took < 3*time.Second || took > 8*time.Second {
			t.Errorf("%s ends after %s with %#v", what, took, err)
		}
	}
	var wait sync.WaitGroup
	wait.Go(func() { expectRefused("a deletion", s.Delete(ctx, id, nil)) })
	wait.Go(func() {
		_, err := s.Create(ctx, models.NewUser{Name: "n", Email: "same"})
		expectRefused("a creation", err)
	})
	for i := range 50 {
		wait.Go(func() {
			began := time.Now()
			_, err := s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i)})
			_, failed := s.Get(ctx, id)
			if took := time.Since(began); err != nil || failed != nil || took > 3*time.Second {
				t.Errorf("another creation and a read took %s, %v, %v", took, err, failed)
			}
		})
	}
	wait.Wait()
	if err := other.Rollback(); err != nil {
		t.Error(err)
	}
	s.create(t, "same")
}

// A short lock does not wait behind a long one: user 1 stays locked while 40 clients change it.
func TestAWriteThatWaitsForALockWaitsForNoOther(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain())
	held, other := s.create(t, "held"), s.create(t, "other")
	long := begin(t, s, fmt.Sprint("UPDATE users SET name = 'x' WHERE id = ", held))
	short := begin(t, s, fmt.Sprint("UPDATE users SET name = 'x' WHERE id = ", other))
	var wait sync.WaitGroup
	refused := make(chan error, 40)
	for i := range cap(refused) {
		wait.Go(func() { refused <- s.rename(held, fmt.Sprint(i)) })
	}
	<-time.After(time.Second) // until each of them waits by itself
	changed := make(chan error, 1)
	began := time.Now()
	go func() { changed <- s.rename(other, "changed") }()
	time.AfterFunc(400*time.Millisecond, func() { _ = short.Rollback() })
	if err := <-changed; err != nil || time.Since(began) > 2*time.Second || len(refused) > 0 {
		t.Errorf("the change took %s, and %d others had waited long enough, %v", time.Since(began), len(refused), err)
	}
	wait.Wait()
	for range cap(refused) {
		if err := <-refused; refusal(err) == nil || refusal(err).Unknown {
			t.Errorf("a change of a user who stays locked is answered %v", err)
		}
	}
	if err := long.Rollback(); err != nil {
		t.Error(err)
	}
}

// A refused write holds up no other, also where the server is far away. Of each group all are sent at once.
func TestFarFromTheServerARefusedWriteRefusesNoOther(t *testing.T) {
	t.Parallel()
	const n = 100
	server := postgresql.Shared(t)
	far := func(t *testing.T, statements ...string) *storage {
		url := server.NewDatabase(t)
		s := postgres.openAt(t, models.Database{URL: server.Distant(t, url, 20*time.Millisecond)}, plain())
		postgresql.SQL(t, url, statements...)
		return s
	}
	atOnce := func(t *testing.T, n, refused int, write func(i int) error) {
		t.Helper()
		var wait sync.WaitGroup
		errs := make([]error, n)
		began := time.Now()
		for i := range n {
			wait.Go(func() { errs[i] = write(i) })
		}
		wait.Wait()
		for i, err := range errs {
			if isRefused := i == refused; isRefused != (refusal(err) != nil && refusal(err).Duplicate) || !isRefused && err != nil {
				t.Fatalf("write %d, of which %d should be refused, is answered %v", i, refused, err)
			}
		}
		t.Logf("%d writes took %s", n, time.Since(began))
	}
	const lower = `CREATE FUNCTION lower_email() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.email := lower(NEW.email); RETURN NEW; END $$;
		CREATE TRIGGER lower_email BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION lower_email()`
	for name, test := range map[string]struct {
		n, refused int
		statements []string
		write      func(s *storage, i int) error
	}{
		"creations": {n, -1, nil, func(s *storage, i int) error {
			_, err := s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint("new", i)})
			return err
		}},
		"creations, one of which is a duplicate": {n, 37, nil, func(s *storage, i int) error {
			_, err := s.Create(ctx, models.NewUser{Name: "n", Email: map[bool]string{true: "1", false: fmt.Sprint("new", i)}[i == 37]})
			return err
		}},
		"creations, whose emails a trigger changes": {n / 2, -1, []string{lower}, func(s *storage, i int) error {
			_, err := s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint("NEW", i)})
			return err
		}},
		"changes": {n, -1, nil, func(s *storage, i int) error { return s.rename(int64(i+1), "new") }},
		"changes, one of which is refused": {n, 37, nil, func(s *storage, i int) error {
			_, err := s.Change(ctx, int64(i+1), values(s.fields, "email", map[bool]string{true: "101", false: fmt.Sprint("new", i)}[i == 37]), nil)
			return err
		}},
	} { // what a trigger changes is stored alone, in three round trips each
		t.Run(name, func(t *testing.T) {
			s := far(t, append(test.statements, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 101) n")...)
			atOnce(t, test.n, test.refused, func(i int) error { return test.write(s, i) })
		})
	}
}

// A trigger may have a name that begins like those of the feed. What it makes of a write is what is answered.
func TestOnPostgreSQLATriggerOfAnotherProgramMayHaveAnyName(t *testing.T) {
	t.Parallel()
	s := openServer(t, postgresql.Shared(t))
	run(t, s.other(t, s.at), `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF TG_OP = 'INSERT' THEN NEW.email := lower(NEW.email); RETURN NEW; END IF;
			IF NEW.name NOT LIKE '%!' THEN UPDATE users SET name = NEW.name || '!' WHERE id = NEW.id; END IF; RETURN NULL; END $$`,
		"CREATE TRIGGER users_changes_low BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION change()",
		"CREATE TRIGGER users_changes_mine AFTER UPDATE ON users FOR EACH ROW EXECUTE FUNCTION change()")
	s.reopen(t, recordChanges)
	if cursor, err := s.Cursor(ctx); cursor == "" || err != nil {
		t.Errorf("the feed is off: %q, %v", cursor, err)
	}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			id, err := s.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint("UP", i)})
			if err != nil {
				t.Error(err)
				return
			}
			changed, err := s.Change(ctx, id, values(s.fields, "name", "new"), nil)
			stored, failed := s.Get(ctx, id)
			if err != nil || failed != nil || !s.same(changed, stored) || stored.Email != fmt.Sprint("up", i) || stored.Name != "new!" {
				t.Errorf("the change is answered with %+v, %v, and stored is %+v, %v", changed, err, stored, failed)
			}
		})
	}
	wait.Wait()
}

func TestOnPostgreSQLChangesAreRecordedInASchemaOfAnyName(t *testing.T) {
	t.Parallel()
	const schema = `"It's @id, ? and %s"`
	s := openServer(t, postgresql.Shared(t), "CREATE SCHEMA "+schema, fmt.Sprintf(
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET search_path = %s', current_database()); END $$`,
		strings.NewReplacer("'", "''", "%", "%%").Replace(schema)))
	s.reopen(t, recordChanges, models.Database.ForgetChanges, recordChanges)
	id := s.create(t, "ada")
	if got := ops(s.feed(t, "", 1)); got != fmt.Sprint("created ", id) {
		t.Errorf("the entries are %s", got)
	}
	if stored := postgresql.Ask(t, s.at.URL, "SELECT id::text FROM "+schema+".users_changes"); stored != fmt.Sprint(id) {
		t.Errorf("the schema has the entries %s", stored)
	}
}

// What PostgreSQL ends for the sake of another transaction is done again, whatever its defaults are.
func TestAWriteThatADeadlockEndsIsDoneAgain(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain())
	run(t, s.other(t, s.at), fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = 'serializable'",
		postgresql.Ask(t, s.at.URL, "SELECT current_database()")))
	s.reopen(t)
	id := s.create(t, "ada")
	other := begin(t, s, "SET LOCAL deadlock_timeout = '1h'", "INSERT INTO users (name, email) VALUES ('n', 'wanted')")
	changed := make(chan error, 1)
	go func() {
		_, err := s.Change(ctx, id, values(s.fields, "email", "wanted"), func(models.User) error { return nil })
		changed <- err
	}()
	awaitWaiting(t, s, 1) // the change has locked the user, and waits for the email
	if _, err := other.Exec(fmt.Sprint("UPDATE users SET name = 'other' WHERE id = ", id)); err != nil {
		t.Error(err)
	}
	if err := other.Rollback(); err != nil {
		t.Error(err)
	}
	if err := <-changed; err != nil || s.stored(t)[0] != "1 ada:wanted" {
		t.Errorf("stored are %v, %v", s.stored(t), err)
	}
}

// Processes that store the same emails in different orders do not wait for each other in a circle.
func TestProcessesThatStoreTheSameDoNotLockEachOtherOut(t *testing.T) {
	t.Parallel()
	s := postgres.open(t, plain())
	processes := []*models.Users{s.Users, s.open(t, 0)}
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			email := fmt.Sprint(map[bool]int{true: i / 2, false: 99 - i/2}[i%2 == 0])
			if _, err := processes[i%2].Create(ctx, models.NewUser{Name: "n", Email: email}); err != nil && !refusal(err).Duplicate {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n, err := s.Count(ctx, models.Query{}); n != 100 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// A commit that no standby confirms, and one whose session is ended, may be stored or not: only the server's refusal is one.
func TestAWriteOfUnknownOutcomeIsNeverSaidToBeRefused(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "log_min_duration_statement=0") // which takes time in which a commit can be ended
	s := openServer(t, server)
	s.create(t, "before")
	stop, cancel := context.WithCancel(ctx)
	var attack, writers sync.WaitGroup
	attack.Go(func() {
		other := s.other(t, s.at)
		for stop.Err() == nil {
			run(t, other, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "+
				"AND application_name = 'users-api' AND state = 'active'")
		}
	})
	unknown := make(chan bool, 1000)
	for client := range 4 {
		writers.Go(func() {
			for i := range 50 {
				email := fmt.Sprint(client, " ", i)
				_, err := s.Create(ctx, models.NewUser{Name: "n", Email: email})
				stored := postgresql.Ask(t, s.at.URL, "SELECT count(*)::text FROM users WHERE email = '"+email+"'")
				switch failed := refusal(err); {
				case err == nil && stored != "1", err != nil && failed == nil, failed != nil && !failed.Unknown && stored != "0":
					t.Errorf("a creation that is stored %s times is answered %#v", stored, err)
				case failed != nil && failed.Unknown:
					unknown <- true
				}
			}
		})
	}
	writers.Wait()
	cancel()
	attack.Wait()
	t.Logf("%d are of unknown outcome", len(unknown))
	postgresql.SQL(t, s.at.URL, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	began := time.Now()
	_, err := s.Create(ctx, models.NewUser{Name: "n", Email: "no standby"})
	if failed := refusal(err); failed == nil || !failed.Unknown || time.Since(began) > 8*time.Second {
		t.Errorf("a commit that no standby confirms is answered %v after %s", err, time.Since(began))
	}
	postgresql.SQL(t, s.at.URL, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}

// Connections that are lost are no matter, and a server that is away or silent is told within 5 s.
func TestAServerThatWasAwayIsFoundAgain(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	s := openServer(t, server)
	id := s.create(t, "first")
	everything := func(email string) map[string]error {
		_, create := s.Create(ctx, models.NewUser{Name: "n", Email: email})
		_, get := s.Get(ctx, id)
		return map[string]error{"creating": create, "getting": get, "listing": s.List(ctx, func(list models.List) error {
			_, err := join(list)
			return err
		})}
	}
	for i := range 5 {
		postgresql.SQL(t, server.URL("postgres"), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'users-api'")
		for what, err := range everything(fmt.Sprint("lost", i)) {
			if err != nil {
				t.Errorf("after its connections are lost, %s: %v", what, err)
			}
		}
	}
	server.Pause(t)
	var wait sync.WaitGroup
	for what, run := range map[string]func() error{
		"creating": func() error { _, err := s.Create(ctx, models.NewUser{Name: "n", Email: "paused"}); return err },
		"getting":  func() error { _, err := s.Get(ctx, id); return err },
		"listing":  func() error { return s.List(ctx, func(models.List) error { return nil }) },
	} {
		wait.Go(func() {
			began := time.Now()
			if err := run(); refusal(err) == nil || time.Since(began) > 8*time.Second {
				t.Errorf("while it is silent, %s ends after %s: %v", what, time.Since(began), err)
			}
		})
	}
	wait.Wait()
	server.Resume(t)
	server.Kill(t)
	for what, err := range everything("killed") {
		if failed := refusal(err); failed == nil || strings.Contains(failed.Text, "postgres:") {
			t.Errorf("while it is away, %s: %v", what, err)
		}
	}
	server.StartAgain(t)
	for what, err := range everything("again") {
		if err != nil {
			t.Errorf("when it is back, %s: %v", what, err)
		}
	}
	server.Pause(t)
	limited, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	began := time.Now()
	if err := s.Close(limited); err != nil || time.Since(began) > 3*time.Second {
		t.Errorf("closing while it is silent: %v after %s", err, time.Since(began))
	}
	server.Resume(t)
}

// Neither the limits of a role, a database or a server nor one that the URL gives end what waits between two statements.
func TestATimeLimitOnWhatIsIdleRefusesNothing(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]func(url string) string{
		"of the database":                func(url string) string { return url },
		"of the URL":                     func(url string) string { return url + "?idle_session_timeout=200ms" },
		"of the database, with a pooler": postgresql.Shared(t).PgBouncer(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := postgres.empty(t).URL
			database := postgresql.Ask(t, direct, "SELECT current_database()")
			for _, limit := range []string{"idle_session_timeout", "idle_in_transaction_session_timeout"} {
				postgresql.SQL(t, direct, fmt.Sprintf("ALTER DATABASE %s SET %s = '200ms'", database, limit))
			}
			s := postgres.openAt(t, models.Database{URL: as(direct)}, plain())
			id := s.create(t, "ada")
			awaitIdle(t, direct)
			if _, err := s.Get(ctx, id); err != nil {
				t.Error("a read:", err)
			}
			awaitIdle(t, direct)
			if err := s.rename(id, "Ada"); err != nil {
				t.Error("a write:", err)
			}
			done, err := s.Import(ctx, func(yield func(models.ImportRow, error) bool) {
				awaitIdle(t, direct) // a disk may stand still
				yield(models.ImportRow{Line: 1, Values: values(s.fields, "name", "n", "email", "alan")}, nil)
			}, models.ImportOptions{})
			if err != nil || done.Created != 1 {
				t.Errorf("an import: %+v, %v", done, err)
			}
		})
	}
}

// awaitIdle waits until no session of the program has done anything for half a second.
func awaitIdle(t testing.TB, url string) {
	t.Helper()
	const idle = "SELECT (coalesce(min(now() - state_change), '1h') > '500ms')::text FROM pg_stat_activity " +
		"WHERE datname = current_database() AND application_name = 'users-api'"
	for deadline := time.Now().Add(20 * time.Second); postgresql.Ask(t, url, idle) != "true"; {
		if time.Now().After(deadline) {
			t.Fatal("the sessions are never idle")
		}
	}
}

// A transaction that began first commits last: a client that follows waits for it, and misses nothing.
func TestNothingIsMissedOfATransactionThatCommitsLate(t *testing.T) {
	t.Parallel()
	s := openServer(t, postgresql.Start(t))
	s.reopen(t, recordChanges)
	f := s.follower(t)
	late := begin(t, s, "INSERT INTO users (name, email) VALUES ('late', 'late')")
	early := s.create(t, "early")
	if changes, err := s.Changes(ctx, f.cursor, 10); err != nil || len(changes.Entries) > 0 || changes.Next != f.cursor {
		t.Errorf("before the commit the feed has %s, %v", ops(changes.Entries), err)
	}
	export := s.follower(t)
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, follower := range []*follower{f, export} {
		follower.expect(t, s.everyone(t))
	}
	if want := fmt.Sprintf("created %d, created %d", early-1, early); ops(f.entries) != want {
		t.Errorf("the feed has %s, want %s", ops(f.entries), want)
	}
}

// Behind a PgBouncer whose sessions serve one transaction each, everything is as without it.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "max_connections=200")
	through := server.PgBouncer(t, "default_pool_size=3", "server_idle_timeout=1")
	pooled := postgres
	pooled.empty = func(t testing.TB) models.Database {
		return models.Database{URL: through(server.NewDatabase(t))}
	}
	t.Run("whatever is done", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(r *rapid.T) { newMachine(t, r, pooled).run(r) })
	})
	for _, test := range []test{{"exports", exports}, {"refused rows", importsRefused}, {"old entries", feedPruned}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, pooled.open(t, plain(), recordChanges))
		})
	}
}
