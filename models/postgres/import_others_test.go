//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// transaction is one of another program, on a connection of its own.
type transaction struct {
	*pgx.Conn
	t testing.TB
}

func begin(t testing.TB, url string) transaction {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	other := transaction{conn, t}
	other.do("BEGIN")
	return other
}

func (o transaction) do(statement string) {
	if _, err := o.Exec(ctx, statement); err != nil {
		o.t.Errorf("%s: %v", statement, err)
	}
}

// awaitWaiting returns once this many sessions wait for a lock of another.
func awaitWaiting(t testing.TB, url, sessions string) {
	t.Helper()
	const waiting = "SELECT count(*)::text FROM pg_stat_activity " +
		"WHERE datname = current_database() AND wait_event_type = 'Lock'"
	for deadline := time.Now().Add(postgresql.Patience); postgresql.Ask(t, url, waiting) != sessions; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%s sessions never wait for a lock", sessions)
		}
	}
}

// What another program stores while an import waits for it exists when the import goes on.
func TestAnEmailThatIsStoredDuringAnImportExists(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO users (name, email) VALUES ('other', 'fileb')"
	for conflict, want := range map[models.Conflict]string{
		models.ConflictFails: "{0 0 0 0 []} 3 ERROR: duplicate key value violates unique constraint " +
			`"uni_users_email" (SQLSTATE 23505)`,
		models.ConflictSkips:   "{2 0 1 0 []} ",
		models.ConflictUpdates: "{2 1 0 0 []} ",
	} {
		t.Run(fmt.Sprint(conflict), func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			users := openUsers(t, url)
			other := begin(t, url)
			other.do(insert)
			var wait sync.WaitGroup
			defer wait.Wait() // the import may go on before the other program knows that its commit is done
			wait.Go(func() {
				awaitWaiting(t, url, "1")
				other.do("COMMIT")
			})
			file := []models.NewUser{{Name: "n", Email: "filea"}, {Name: "n", Email: "fileb"}, {Name: "n", Email: "filec"}}
			done, err := users.Import(ctx, storetest.Rows(file...), models.ImportOptions{OnConflict: conflict})
			if got := fmt.Sprint(done, " ", refusals(err)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// A user who gets another email while an import waits is no longer the one whom the row is about: the row creates another.
func TestAUserWhoseEmailChangesDuringAnImportKeepsItsName(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	file := storetest.Rows(models.NewUser{Name: "file", Email: "ada"}, models.NewUser{Name: "file", Email: "alan"})
	if _, err := users.Create(ctx, models.NewUser{Name: "Ada", Email: "ada"}); err != nil {
		t.Fatal(err)
	}
	other := begin(t, url)
	other.do("UPDATE users SET email = 'moved'")
	var wait sync.WaitGroup
	wait.Go(func() {
		awaitWaiting(t, url, "1")
		other.do("COMMIT")
	})
	done, err := users.Import(ctx, file, models.ImportOptions{OnConflict: models.ConflictUpdates})
	wait.Wait()
	if err != nil || done.Created != 2 || done.Updated != 0 {
		t.Errorf("the import did %v, %v", done, err)
	}
	if name := postgresql.Ask(t, url, "SELECT name FROM users WHERE email = 'moved'"); name != "Ada" {
		t.Errorf("the user who has another email now is called %s", name)
	}
}

// refusals writes why rows were refused.
func refusals(err error) (text string) {
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok {
		return strings.TrimPrefix(fmt.Sprint(err), "<nil>")
	}
	for _, row := range refused.Listed {
		text += fmt.Sprint(row.Line, " ", row.Err)
	}
	return text
}

// Of two transactions that wait for each other PostgreSQL ends one. Where that is the import, it is done again.
func TestAnImportThatPostgreSQLEndsForAnotherTransactionIsDoneAgain(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	last, middle := begin(t, url), begin(t, url)
	last.do("SET deadlock_timeout = '1h'") // so that it is not the one that is ended
	last.do("INSERT INTO users (name, email) VALUES ('n', 'last')")
	middle.do("INSERT INTO users (name, email) VALUES ('n', 'middle')")
	rows := func(yield func(models.ImportRow, error) bool) {
		for row, err := range storetest.ManyRows(3*chunks.Rows, "file", func() {}) {
			switch row.Line {
			case 3 * chunks.Rows / 2:
				row.User.Email = "middle"
			case 3 * chunks.Rows:
				row.User.Email = "last"
			}
			if !yield(row, err) {
				return
			}
		}
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() {
		awaitWaiting(t, url, "1") // the import, for middle
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			last.do("INSERT INTO users (name, email) VALUES ('n', 'file0')")
		}()
		awaitWaiting(t, url, "2")
		middle.do("ROLLBACK")
		<-waited
		last.do("ROLLBACK")
	})
	if done, err := users.Import(ctx, rows, models.ImportOptions{}); done.Created != 3*chunks.Rows || err != nil {
		t.Error(done, err)
	}
}
