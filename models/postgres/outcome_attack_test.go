//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// attempts are what writers were told: how many writes were refused for certain, and how many were said to be unknown.
type attempts struct{ refused, unknown atomic.Int64 }

// note remembers a write that failed, and reports whether it was refused for certain.
func (a *attempts) note(err error) (refused bool) {
	failed, ok := errors.AsType[*models.StorageError](err)
	if ok && failed.Code == codeUnknown {
		a.unknown.Add(1)
		return false
	}
	a.refused.Add(1)
	return true
}

// writer creates a user and changes it again and again, with a condition every other time, and looks after each refusal
// whether the write was stored all the same. Look must reach the database whatever happens to the others.
func (a *attempts) writer(t *testing.T, users *Users, who string, rounds int, look func(query string) string) {
	t.Helper()
	email := who + "@example.org"
	id, err := users.Create(ctx, models.NewUser{Name: "n", Email: email})
	for n := 0; err != nil; n++ {
		if a.note(err) && look("SELECT count(*)::text FROM users WHERE email = '"+email+"'") != "0" {
			t.Errorf("a creation that is stored was answered: %v", err)
		}
		email = fmt.Sprint(who, n, "@example.org")
		id, err = users.Create(ctx, models.NewUser{Name: "n", Email: email})
	}
	for n := range rounds {
		allow := map[bool]models.Condition{true: func(models.User) error { return nil }}[n%2 == 0]
		name := fmt.Sprint(who, "-", n)
		_, err := users.Change(ctx, id, storetest.Values("name", name), allow)
		if err != nil && a.note(err) && look(fmt.Sprint("SELECT name FROM users WHERE id = ", id)) == name {
			t.Errorf("a change that is stored was answered: %v", err)
		}
	}
}

// endSessions cancels or ends the sessions of the service, all the time, until the context ends.
func endSessions(t *testing.T, stop context.Context, url, how string) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close(ctx) //nolint:errcheck // it has done what it should
	for stop.Err() == nil {
		_, err := conn.Exec(ctx, "SELECT "+how+"(pid) FROM pg_stat_activity WHERE datname = current_database() "+
			"AND application_name = 'users-api' AND state = 'active'")
		if err != nil {
			t.Error(err)
			return
		}
	}
}

// What an administrator cancels or ends during its commit is acted on after it. The server logs each statement, which takes
// time in which it can be ended.
func TestAWriteThatIsEndedIsNeverSaidToBeRefusedWhenItIsStored(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t, "log_min_duration_statement=0")
			url := server.NewDatabase(t)
			users := openUsers(t, url)
			stop, cancel := context.WithCancel(ctx)
			var attack, writers sync.WaitGroup
			attack.Go(func() { endSessions(t, stop, url, how) })
			var told attempts
			for client := range 4 {
				writers.Go(func() {
					told.writer(t, users, fmt.Sprint("client", client), 60, func(query string) string { return postgresql.Ask(t, url, query) })
				})
			}
			writers.Wait()
			cancel()
			attack.Wait()
			if told.unknown.Load() == 0 {
				t.Errorf("no write was ended: %d were refused", told.refused.Load())
			}
			t.Logf("%d of unknown outcome, %d refused", told.unknown.Load(), told.refused.Load())
		})
	}
}

// A server that is killed takes what it has answered, and what it has not is of unknown outcome.
func TestAWriteToAServerThatIsKilledIsNeverSaidToBeRefusedWhenItIsStored(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	for round := range 3 {
		var told attempts
		type refusal struct {
			email string
			err   error
		}
		var mu sync.Mutex
		var refused []refusal
		var writers sync.WaitGroup
		var stored atomic.Int64
		for client := range 8 {
			writers.Go(func() {
				for n := 0; ; n++ {
					email := fmt.Sprintf("%d-%d-%d", round, client, n)
					_, err := users.Create(ctx, models.NewUser{Name: "n", Email: email})
					if err == nil {
						stored.Add(1)
						continue
					}
					if told.note(err) {
						mu.Lock()
						refused = append(refused, refusal{email, err})
						mu.Unlock()
					}
					return
				}
			})
		}
		await(t, "users are stored", func() bool { return stored.Load() > 20 })
		server.Kill(t)
		writers.Wait()
		server.StartAgain(t)
		for _, one := range refused {
			if n := postgresql.Ask(t, url, "SELECT count(*)::text FROM users WHERE email = '"+one.email+"'"); n != "0" {
				t.Errorf("a creation that is stored was answered: %v", one.err)
			}
		}
		expectWorking(t, users, id)
	}
}

// Whatever a second attempt meets, an attempt that may have been stored is told as such: there is no second attempt.
func TestAnUnknownOutcomeIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	id := storetest.Create(t, users, "ada")
	var runs atomic.Int64
	err := users.database.on(ctx, write, committing(func(ctx context.Context, conn connection) error {
		runs.Add(1)
		name := fmt.Sprint("run ", runs.Load())
		_, err := conn.exec(ctx, "UPDATE users SET name = $1 WHERE id = $2::int8", name, id)
		server.Kill(t)
		_, again := conn.exec(ctx, "SELECT $1::int8", id)
		_, closed := conn.exec(ctx, "SELECT $1::int8", id) // "conn closed", of which pgx says that it is safe to try again
		return errors.Join(err, closed, again)
	}))
	failed, ok := errors.AsType[*models.StorageError](err)
	if !ok || failed.Code != codeUnknown || !strings.Contains(failed.Text, "not known") || runs.Load() != 1 {
		t.Errorf("after %d runs: %v", runs.Load(), err)
	}
}
