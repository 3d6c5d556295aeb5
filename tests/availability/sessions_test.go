//go:build postgres

package availability

import (
	"fmt"
	"syscall"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

const ofProgram = " FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'users-api'"

func TestLostConnectionsRefuseNothing(t *testing.T) {
	t.Parallel()
	p, url := onServer(t, postgresql.Shared(t))
	for i := range 5 {
		postgresql.SQL(t, url, "SELECT pg_terminate_backend(pid)"+ofProgram)
		id := p.Create(t, "Ada", fmt.Sprint("lost", i))
		p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, "…")
		program.Expect(t, "how many users there are", len(p.List(t)), i+1)
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
			url := postgresql.Shared(t).NewDatabase(t)
			const limit = "ALTER DATABASE %s SET %s = '1s'" // also of this test's later sessions, which run one statement each
			database := postgresql.Ask(t, url, "SELECT current_database()")
			postgresql.SQL(t, url, fmt.Sprintf(limit, database, "idle_session_timeout"),
				fmt.Sprintf(limit, database, "idle_in_transaction_session_timeout"))
			p := program.Serve(t, "DATABASE_URL="+as(url))
			unlimited := url + "?idle_session_timeout=0" // a busy machine may take long between two messages
			awaitIdle := func() {
				program.WaitFor(t, "all are idle", func() bool {
					const idle = "SELECT (coalesce(min(now() - state_change), '1h') > '1500ms')::text"
					return postgresql.Ask(t, unlimited, idle+ofProgram) == "true"
				})
			}
			id := p.Create(t, "Ada", "ada@example.org")
			awaitIdle()
			p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, "…")
			awaitIdle()
			end := postgresql.Hold(t, unlimited, "SET idle_in_transaction_session_timeout = 0; UPDATE users SET name = 'n'")
			change := p.Dial(t)
			change.Send("PATCH /api/users/%d HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n\r\n{\"name\":\"Alan\"}", id)
			program.WaitFor(t, "the change waits", func() bool {
				return postgresql.Ask(t, unlimited, "SELECT count(*)::text"+ofProgram+" AND wait_event_type = 'Lock'") == "1"
			})
			p.Signal(syscall.SIGSTOP) // in the middle of its transaction
			end()
			awaitIdle()
			p.Signal(syscall.SIGCONT)
			change.Answer().Expect(t, 200, "…")
		})
	}
}

// What another transaction only refers to, by a foreign key, can be changed, and not be deleted.
func TestARowThatIsReferredToHoldsUpNoChange(t *testing.T) {
	t.Parallel()
	p, url := onServer(t, postgresql.Shared(t))
	id := p.Create(t, "Ada", "ada@example.org")
	postgresql.SQL(t, url, "CREATE TABLE orders (buyer bigint REFERENCES users)")
	end := postgresql.Hold(t, url, fmt.Sprintf("INSERT INTO orders VALUES (%d)", id))
	path := fmt.Sprint("/api/users/", id)
	p.Do(t, "PATCH", path, `{"name":"B"}`).Expect(t, 200, "…")
	p.Do(t, "PATCH", path, `{"name":"C"}`, "If-Match: *").Expect(t, 200, "…")
	p.Do(t, "PUT", "/api/users/ada@example.org", `{"name":"D"}`, "If-Match: *").Expect(t, 200, "…")
	p.Do(t, "DELETE", path, "").Expect(t, 500, program.ErrorBody(program.WritesHeld))
	end()
	p.Delete(t, id)
}
