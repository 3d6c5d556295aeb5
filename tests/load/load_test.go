// Package load proves what holds under heavy load and with large files. Most of its tests take minutes and run with
// -long alone.
package load

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/tests/program"
)

// Each slow reader keeps the list that it began with. Two of 8 MB are more than 12 MiB: the next one is not kept.
func TestListsThatSlowReadersHoldTakeABoundedAmountOfMemory(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LIST_MEMORY_MIB=12", "ADMIN_PORT=0")
	program.OpenOther(t, p.DatabasePath()).Fill(80_000)
	read := func(email string) {
		conn := p.Dial(t)
		conn.Buffer(4096)
		conn.Send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
		conn.Begin()
		p.Create(t, "n", email)
	}
	uncached := func() float64 { return program.Scrape(t, p)["users_api_list_total"]["result=uncached"] }
	read("first")
	read("second")
	program.Expect(t, "lists that are not kept", uncached(), 0)
	read("third")
	program.Expect(t, "lists that are not kept", uncached(), 1)
}

func TestTwoThousandClientsAtOnceAreServed(t *testing.T) {
	program.NeedsLong(t)
	p := program.Serve(t)
	var wait sync.WaitGroup
	for i := range 2000 {
		wait.Go(func() {
			for n := range 5 {
				answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprintf("%d-%d", i, n)))
				if err != nil || answer.Status != 201 {
					t.Errorf("a creation is answered %d %s, %v", answer.Status, answer.Body, err)
				}
			}
		})
	}
	wait.Wait()
	p.ExpectMemory(t, 256)
}

func TestNothingGrowsInASoak(t *testing.T) {
	program.NeedsLong(t)
	p := program.Serve(t, "ADMIN_PORT=0")
	idle := program.Scrape(t, p)["go_goroutines"][""]
	var requests atomic.Int64
	take := func() (memory, wal, files float64) {
		figures := program.Scrape(t, p)
		return figures["process_resident_memory_bytes"][""], figures["users_api_wal_bytes"][""], figures["process_open_fds"][""]
	}
	soak(t, p, *program.Long/3, idle, &requests)
	memory, wal, files := take()
	soak(t, p, *program.Long-*program.Long/3, idle, &requests)
	memoryThen, walThen, filesThen := take()
	t.Logf("%d requests in %s; after a third, %.0f bytes of memory, %.0f of the -wal file and %.0f files; at the end %.0f, %.0f and %.0f",
		requests.Load(), *program.Long, memory, wal, files, memoryThen, walThen, filesThen)
	if memoryThen > memory*1.25+8<<20 || walThen > max(2*wal, 80<<20) || filesThen > files+2 { // 64 MB of the -wal file are usual
		t.Error("something has grown")
	}
}

// soak has clients create, delete and list for a while. About a thousand users exist at a time. Nothing may fail, and when they
// have gone there are as many goroutines as before.
func soak(t *testing.T, p *program.Program, during time.Duration, idle float64, requests *atomic.Int64) {
	t.Helper()
	until := time.Now().Add(during)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			var mine []int64
			for time.Now().Before(until) {
				requests.Add(1)
				switch choice := rand.IntN(10); {
				case choice < 5:
					p.List(t)
				case len(mine) > 128 || choice == 5 && len(mine) > 0:
					p.Delete(t, mine[0])
					mine = mine[1:]
				default:
					mine = append(mine, p.Create(t, "n", fmt.Sprint(rand.Uint64())))
				}
			}
			for _, id := range mine {
				p.Delete(t, id)
			}
		})
	}
	wait.Wait()
	program.Client().CloseIdleConnections()
	program.WaitFor(t, "the goroutines of clients have ended", func() bool {
		return program.Scrape(t, p)["go_goroutines"][""] <= idle+5
	})
}

func TestMain(m *testing.M) { program.Main(m) }
