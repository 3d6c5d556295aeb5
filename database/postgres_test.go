//go:build postgres

package database_test

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"users-api/database"
	"users-api/models"
	"users-api/tests/failing"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

var postgres = engine{
	name: "PostgreSQL",
	empty: func(t testing.TB) database.Location {
		url := postgresql.Shared(t).NewDatabase(t)
		postgresql.SQL(t, url, `CREATE SCHEMA "It's @id, ? and %s"`, `DO $$ BEGIN EXECUTE format(
			'ALTER DATABASE %I SET search_path = "It''s @id, ? and %%s"', current_database()); END $$`)
		return database.Location{URL: url}
	},
	other: func(t testing.TB, at database.Location) *sql.DB {
		t.Helper()
		return connect(t, "pgx", at.URL)
	},
	failing: func(t testing.TB, statements *failing.Statements) database.Location {
		return database.Location{URL: failing.Server(t, postgresql.Shared(t).NewDatabase(t), statements)}
	},
	delayed: true,
}

func init() {
	databases, atEnd = append(databases, postgres), append(atEnd, postgresql.End)
}

func TestLostConnectionsRefuseNothing(t *testing.T) {
	t.Parallel()
	s := postgres.open(t)
	for i := range 5 {
		postgresql.SQL(t, s.at.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
			"WHERE datname = current_database() AND application_name = 'users-api'")
		_, err := s.Get(ctx, database.Who{ID: s.create(t, fmt.Sprint("lost", i))})
		if all := selected(t, s.Users, models.Query{}); err != nil || len(all) != i+1 {
			t.Errorf("the users are %v, and one %v", all, err)
		}
	}
}

// Neither the limits of a role, a database or a server nor one that the URL gives end what waits between two statements.
func TestATimeLimitOnWhatIsIdleRefusesNothing(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]func(url string) string{
		"of the database":                func(url string) string { return url },
		"of the URL":                     func(url string) string { return url + "?idle_session_timeout=1s" },
		"of the database, with a pooler": postgresql.Shared(t).Pooler(t).Through,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := postgres.empty(t).URL
			databaseName := postgresql.Ask(t, direct, "SELECT current_database()")
			const limit = "ALTER DATABASE %s SET %s = '1s'" // also of this test's later sessions, which run one statement each
			postgresql.SQL(t, direct, fmt.Sprintf(limit, databaseName, "idle_session_timeout"),
				fmt.Sprintf(limit, databaseName, "idle_in_transaction_session_timeout"))
			s := postgres.openAt(t, database.Location{URL: as(direct)}, plain())
			unlimited := direct + "?idle_session_timeout=0" // a busy machine may take long between two messages
			const idle = `SELECT (coalesce(min(now() - state_change), '1h') > '1500ms')::text FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'users-api'`
			awaitIdle := func() {
				program.WaitFor(t, "all are idle", func() bool { return postgresql.Ask(t, unlimited, idle) == "true" })
			}
			id := s.create(t, "ada")
			awaitIdle()
			if _, err := s.Get(ctx, database.Who{ID: id}); err != nil {
				t.Error("a read:", err)
			}
			awaitIdle()
			if err := s.rename(id, "Ada"); err != nil {
				t.Error("a write:", err)
			}
			done, err := s.Import(ctx, func(yield func(database.ImportRow, error) bool) {
				awaitIdle() // a disk may stand still
				yield(database.ImportRow{Line: 1, Values: file("n:alan")[0]}, nil)
			}, database.ImportOptions{})
			if err != nil || done.Created != 1 {
				t.Errorf("an import: %+v, %v", done, err)
			}
		})
	}
}

func all(models.User) error { return nil }

// What another transaction only refers to, by a foreign key, can be changed, and not be deleted.
func TestARowThatIsReferredToHoldsUpNoChange(t *testing.T) {
	t.Parallel()
	s := postgres.open(t)
	id := s.create(t, "ada")
	postgresql.SQL(t, s.at.URL, "CREATE TABLE orders (buyer bigint REFERENCES users)")
	end := postgresql.Hold(t, s.at.URL, fmt.Sprintf("INSERT INTO orders VALUES (%d)", id))
	for name, allow := range map[string]models.Precondition{"a change": nil, "a change with a precondition": all} {
		if _, err := s.Change(ctx, database.Who{ID: id}, values(s.fields, "name", name), allow); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := s.Put(ctx, "ada", values(s.fields, "name", "Ada"), all, nil); err != nil {
		t.Errorf("a replacement: %v", err)
	}
	if failed := refusal(s.remove(id)); failed == nil || failed.Meaning != "locked" {
		t.Errorf("a deletion is refused with %#v", failed)
	}
	end()
	program.Must(t, s.remove(id))
}
