//go:build postgres

package postgres

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// isTaken reports whether nothing is left of a semaphore.
func isTaken(slots *semaphore.Weighted) bool {
	if !slots.TryAcquire(1) {
		return true
	}
	slots.Release(1)
	return false
}

func awaitTurn(users *Users) {
	for !isTaken(users.database.importing) {
		runtime.Gosched()
	}
}

func expectUsers(t *testing.T, url, want string) {
	t.Helper()
	if got := postgresql.Ask(t, url, "SELECT count(*)::text FROM users"); got != want {
		t.Errorf("%s users are stored, want %s", got, want)
	}
}

func TestAnImportThatIsBrokenOffStoresNothing(t *testing.T) {
	t.Parallel()
	for _, interruption := range storetest.Interruptions(t) {
		t.Run(interruption.Name, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			users := openUsers(t, url)
			storetest.Create(t, users, "before")
			interruption.Interrupt(t, users, func() { awaitTurn(users) })
			again := openUsers(t, url)
			expectUsers(t, url, "1")
			done, err := again.Import(ctx, storetest.ManyRows(10, "file", func() {}), models.ImportOptions{})
			if done.Created != 10 || err != nil {
				t.Error(done, err)
			}
		})
	}
}

// The connection may break at any time before the commit: then everything was taken back, and is done again.
func TestAnImportWhoseConnectionBreaksIsDoneOnAnother(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	ended := make(chan string, 1)
	rows := storetest.ManyRows(50_000, "file", func() {
		go func() {
			const end = `SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity
				WHERE datname = current_database() AND query LIKE '%INSERT INTO users%' AND pid <> pg_backend_pid()`
			for {
				if n := postgresql.Ask(t, url, end); n != "0" {
					ended <- n
					return
				}
			}
		}()
	})
	if done, err := users.Import(ctx, rows, models.ImportOptions{}); done.Created != 50_000 || err != nil {
		t.Error(done, err)
	}
	if n := <-ended; n != "1" {
		t.Errorf("%s connections were broken", n)
	}
	expectUsers(t, url, "50000")
}

// A chunk has several thousand rows, and those that are refused are anywhere in it.
func TestEveryRowOfAManyThatIsRefusedIsTold(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	postgresql.SQL(t, url, tableOf("varchar(8) CHECK (name <> 'bad')", "text UNIQUE", ""),
		"INSERT INTO users (name, email) VALUES ('n', 'there')")
	bad := map[int]string{
		3:      `new row for relation "users" violates check constraint "users_name_check" (SQLSTATE 23514)`,
		777:    `duplicate key value violates unique constraint "users_email_key" (SQLSTATE 23505)`,
		4097:   `invalid byte sequence for encoding "UTF8": 0x00 (SQLSTATE 22021)`,
		4098:   `value too long for type character varying(8) (SQLSTATE 22001)`,
		9_000:  `duplicate key value violates unique constraint "users_email_key" (SQLSTATE 23505)`,
		9_001:  "an earlier row has the same email",
		10_001: `new row for relation "users" violates check constraint "users_name_check" (SQLSTATE 23514)`,
	}
	rows := func(yield func(models.ImportRow, error) bool) {
		for row, err := range storetest.ManyRows(10_000, "file", func() {}) {
			switch text := bad[row.Line]; {
			case strings.Contains(text, "check"):
				row.User.Name = "bad"
			case strings.Contains(text, "duplicate"):
				row.User.Email = "there"
			case strings.Contains(text, "0x00"):
				row.User.Name = "\x00"
			case strings.Contains(text, "too long"):
				row.User.Name = "too long for it"
			case strings.Contains(text, "earlier"):
				row.User.Email = "file0"
			}
			if !yield(row, err) {
				return
			}
		}
	}
	_, err := openUsers(t, url).Import(ctx, rows, models.ImportOptions{})
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || refused.Refused != len(bad) || refused.All != 10_000 {
		t.Fatalf("the import: %v", err)
	}
	for _, row := range refused.Listed {
		if text := strings.TrimPrefix(row.Err.Error(), "ERROR: "); text != bad[row.Line] {
			t.Errorf("line %d is refused because %s, want %s", row.Line, text, bad[row.Line])
		}
	}
	expectUsers(t, url, "1")
}

// What the planner knows of a table was true before the import: a scan of all users for every row would take hours.
func TestAnImportFindsUsersByTheIndexHoweverTheTableGrows(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	storetest.Create(t, users, "only")
	postgresql.SQL(t, url, "ANALYZE users")
	for range 2 {
		options := models.ImportOptions{OnConflict: models.ConflictUpdates}
		if _, err := users.Import(ctx, storetest.ManyRows(5*chunks.Rows, "file", func() {}), options); err != nil {
			t.Fatal(err)
		}
	}
	_ = users.Close(ctx) // a session that ends tells what it did
	const scans = `SELECT coalesce(max(CASE WHEN seq_scan < 100 THEN 'few' ELSE seq_scan::text END), 'not told yet')
		FROM pg_stat_user_tables WHERE relname = 'users' AND n_tup_ins > 20000`
	got := ""
	for deadline := time.Now().Add(postgresql.Patience); time.Now().Before(deadline); {
		if got = postgresql.Ask(t, url, scans); got != "not told yet" {
			break
		}
	}
	if got != "few" {
		t.Errorf("scans of all users: %s", got)
	}
}
