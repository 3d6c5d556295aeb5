//go:build postgres

package availability

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// forgetful forwards connections to an address. Once it is told to forget, whatever is sent on those that it has then
// vanishes, as behind a NAT, and new ones are as good as ever.
func forgetful(t *testing.T, to string) (address string, forget func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	program.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	var age atomic.Int64
	forward := func(from, to net.Conn, born int64) {
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if born < age.Load() {
				if err != nil {
					return
				}
				continue
			}
			if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
				_, _ = from.Close(), to.Close()
				return
			}
		}
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go forward(client, server, age.Load())
			go forward(server, client, age.Load())
		}
	}()
	return listener.Addr().String(), func() { age.Add(1) }
}

// The first requests after a while find only connections that a NAT or a firewall has forgotten.
func TestTheFirstRequestsAfterAllConnectionsWereForgottenAreAnswered(t *testing.T) {
	t.Parallel()
	server := postgresql.Shared(t)
	url := server.NewDatabase(t)
	address, forget := forgetful(t, fmt.Sprint("127.0.0.1:", server.Port))
	p := program.Serve(t, "DATABASE_URL="+postgresql.Through(t, url, address))
	id := p.Create(t, "Ada", "ada@example.org")
	end := postgresql.Hold(t, url, "UPDATE users SET name = 'n'")
	var writes sync.WaitGroup
	for range 6 {
		writes.Go(func() { p.Change(t, id, `{"name":"Ada King"}`) })
	}
	const others = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'users-api'`
	is := func(condition string) func() bool {
		return func() bool { return postgresql.Ask(t, url, "SELECT ("+condition+")::text") == "true" }
	}
	program.WaitFor(t, "six writes wait", is("SELECT count(*) = 6 "+others+" AND wait_event_type = 'Lock'"))
	end()
	writes.Wait()
	program.WaitFor(t, "all are idle", is("SELECT count(*) >= 6 AND min(now() - state_change) > '1.5s' "+others))
	forget()
	p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, `…"Ada King"…`)
	p.Create(t, "Alan", "alan@example.org")
}
