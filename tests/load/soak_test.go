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
