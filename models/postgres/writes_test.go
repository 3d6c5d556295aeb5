//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// writes are all ways to write, by name.
func writes(users *Users, changed, deleted int64) map[string]func() error {
	name := "Grace"
	return map[string]func() error{
		"creating": func() error { _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "new"}); return err },
		"changing": func() error { _, err := users.Change(ctx, changed, storetest.Values("name", name), nil); return err },
		"deleting with a condition": func() error {
			return users.Delete(ctx, deleted, func(models.User) error { return nil })
		},
		"importing": func() error {
			_, err := users.Import(ctx, storetest.Rows(models.NewUser{Name: "n", Email: "imported"}), models.ImportOptions{})
			return err
		},
	}
}

// Someone cancels the wait for a standby: PostgreSQL says so in a warning, and the commit is nowhere else.
func TestACommitWhoseWaitForAStandbyIsCancelledIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, pooler := range map[string]bool{"directly": false, "behind a pooler": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t, "client_min_messages=error")
			url := server.NewDatabase(t)
			through := url
			if pooler {
				through = server.PgBouncer(t)(url)
			}
			users := openUsers(t, through)
			changed, deleted := storetest.Create(t, users, "ada"), storetest.Create(t, users, "bob")
			postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
			server.Reload(t)
			var wait sync.WaitGroup
			all := writes(users, changed, deleted)
			for what, write := range all {
				wait.Go(func() {
					failed, ok := errors.AsType[*models.StorageError](write())
					if !ok || failed.Code != codeUnknown || failed.Text != "no standby has confirmed the commit; "+
						"whether the change was stored is not known" {
						t.Errorf("%s: %#v", what, failed)
					}
				})
			}
			server.WaitUntil(t, fmt.Sprint(len(all)), "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			postgresql.SQL(t, url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
			wait.Wait()
			postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
			server.Reload(t)
			storetest.Create(t, users, "later") // the mark is not that of the connection
		})
	}
}

// isReadCommitted is a trigger that refuses a write with another isolation.
const isReadCommitted = `CREATE FUNCTION isolation() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF current_setting('transaction_isolation') <> 'read committed' THEN RAISE 'it is not read committed'; END IF;
		RETURN coalesce(NEW, OLD); END $$;
	CREATE TRIGGER isolation BEFORE INSERT OR UPDATE OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION isolation()`

// Whatever the default isolation is, writes see what others have committed, wait for them, and do not panic.
func TestWritesAreReadCommittedWhateverTheDefaultIs(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"repeatable read", "serializable"} {
		for name, pooler := range map[string]bool{"directly": false, "behind a pooler": true} {
			t.Run(isolation+", "+name, func(t *testing.T) {
				t.Parallel()
				server := postgresql.Start(t, "default_transaction_isolation="+isolation)
				url := server.NewDatabase(t)
				through := url
				if pooler {
					through = server.PgBouncer(t)(url)
				}
				users := openUsers(t, through)
				postgresql.SQL(t, url, "SET default_transaction_isolation = 'read committed'", isReadCommitted)
				id := storetest.Create(t, users, "ada")
				other := begin(t, url)
				other.do("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
				other.do("UPDATE users SET name = 'other' WHERE email = 'ada'")
				var wait sync.WaitGroup
				email := "grace"
				wait.Go(func() {
					user, err := users.Change(ctx, id, storetest.Values("email", email), nil)
					if user.Name != "other" || err != nil {
						t.Errorf("changed it is %v, %v", user, err)
					}
				})
				awaitWaiting(t, url, "1")
				other.do("COMMIT")
				wait.Wait()
				postgresql.SQL(t, url, trigger("BEFORE INSERT ON users", "IF NEW.name = 'bad' THEN RETURN NULL; END IF; RETURN NEW;"))
				all := numbered(50)
				all[7].Name = "bad"
				ids, errs := createAll(users, all...)
				expectStored(t, users, all, ids, errs)
				for i, err := range errs {
					if (i == 7) != errors.Is(err, models.ErrIgnored) || i != 7 && err != nil {
						t.Errorf("creation %d: %v", i, err)
					}
				}
				errs = errs[:0]
				var mu sync.Mutex
				for i, id := range ids {
					if i != 7 {
						wait.Go(func() {
							err := users.Delete(ctx, id, nil)
							mu.Lock()
							defer mu.Unlock()
							errs = append(errs, err)
						})
					}
				}
				wait.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Of two transactions that wait for each other PostgreSQL ends one, which is done again.
func TestAWriteThatADeadlockEndsIsDoneAgain(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	for name, allow := range map[string]models.Condition{"alone": nil, "with a condition": func(models.User) error { return nil }} {
		other := begin(t, url)
		other.do("SET deadlock_timeout = '1h'") // so that it is not the one that is ended
		other.do("INSERT INTO users (name, email) VALUES ('n', 'wanted')")
		var wait sync.WaitGroup
		email := "wanted"
		wait.Go(func() {
			if user, err := users.Change(ctx, id, storetest.Values("email", email), allow); user.Email != email || err != nil {
				t.Errorf("%s, changed it is %v, %v", name, user, err)
			}
		})
		awaitWaiting(t, url, "1") // the change has locked the user, and waits for the email
		other.do(fmt.Sprint("UPDATE users SET name = 'other' WHERE id = ", id))
		other.do("ROLLBACK")
		wait.Wait()
		email = "ada"
		if _, err := users.Change(ctx, id, storetest.Values("email", email), nil); err != nil {
			t.Error(err)
		}
	}
}

// A constraint that is checked at the end of a transaction refuses the row to blame, also in a dry run.
func TestARowThatADeferredConstraintRefusesIsTold(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, ordinary, "CREATE TABLE names (name text PRIMARY KEY)", "INSERT INTO names VALUES ('good')",
		"ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES names DEFERRABLE INITIALLY DEFERRED")
	users := openUsers(t, url)
	rows := []models.NewUser{{Name: "good", Email: "a"}, {Name: "bad", Email: "b"}, {Name: "good", Email: "c"}}
	for _, dryRun := range []bool{true, false} {
		_, err := users.Import(ctx, storetest.Rows(rows...), models.ImportOptions{DryRun: dryRun})
		if got := refusals(err); !strings.HasPrefix(got, "3 ERROR: ") || !strings.Contains(got, "violates foreign key") {
			t.Errorf("in a dry run: %t: %s", dryRun, got)
		}
	}
	expectUsers(t, url, "0")
}

// A lock_timeout of the role neither adds to the time of a write nor makes those that share a statement wait twice.
func TestALockTimeoutOfTheRoleDoesNotAddToTheTimeOfAWrite(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "lock_timeout=3s")
	url := server.NewDatabase(t)
	for name, through := range map[string]string{"directly": url, "behind a pooler": server.PgBouncer(t)(url)} {
		users := openUsers(t, through)
		unlock := lock(t, url)
		start := time.Now()
		_, errs := createAll(users, numbered(20)...)
		took := time.Since(start)
		unlock()
		for _, err := range errs {
			if !errors.Is(err, errTooLate) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if took > 6*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// A write that comes between the two looks at whether the storage is closed finds that it is, and does not wait.
func TestNoWriteWaitsForALockThatCloseNeverGivesBack(t *testing.T) {
	t.Parallel()
	users := openUsers(t, postgresql.Shared(t).NewDatabase(t))
	if err := users.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if !users.writing.TryRLock() {
		t.Error("the lock is still held")
	}
}

// In a stop that takes its time, a creation that was refused beside others does not begin a second wait.
func TestACreationThatIsTriedAloneHasTheRestOfItsTime(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, ordinary, triggerOf(before, "PERFORM pg_sleep(3); RAISE 'not now'; RETURN new;"))
	users := openUsers(t, url)
	start := time.Now()
	_, errs := createAll(users, numbered(10)...)
	for _, err := range errs {
		if err == nil {
			t.Error("it is stored")
		}
	}
	if took := time.Since(start); took > 6*time.Second {
		t.Errorf("it took %s", took)
	}
}

// What is sent to a pooler whose server is killed is of unknown outcome, also a copy and an import in their commit.
func TestAWriteBehindAPoolerWhoseServerIsKilledIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, server.PgBouncer(t)(url))
	id := storetest.Create(t, users, "ada")
	postgresql.SQL(t, url, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END'",
		"CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON users DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()")
	changed := make(chan error)
	go func() {
		name := "Grace"
		_, err := users.Change(ctx, id, storetest.Values("name", name), nil)
		changed <- err
	}()
	server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
	server.Kill(t)
	if failed, ok := errors.AsType[*models.StorageError](<-changed); !ok || failed.Code != codeUnknown {
		t.Errorf("the change: %#v", failed)
	}
}

// A copy whose commit no standby confirms is of unknown outcome too.
func TestACopyThatNoStandbyConfirmsIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	ada := models.User{ID: 1, NewUser: models.NewUser{Name: "Ada", Email: "ada"}, CreatedAt: "2024-01-02 03:04:05"}
	from := CopySource{Count: 1, Highest: 1, Finish: func() error { return nil }, Users: func() iter.Seq2[models.User, error] {
		return func(yield func(models.User, error) bool) { yield(ada, nil) }
	}}
	postgresql.SQL(t, url, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	server.Reload(t)
	copied := make(chan error)
	go func() { copied <- users.CopyFrom(ctx, from, nil) }()
	server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	postgresql.SQL(t, url, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	if failed, ok := errors.AsType[*models.StorageError](<-copied); !ok || failed.Code != codeUnknown {
		t.Errorf("the copy: %#v", failed)
	}
	postgresql.SQL(t, url, "ALTER SYSTEM RESET synchronous_standby_names")
	server.Reload(t)
}
