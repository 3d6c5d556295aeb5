package load

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestNothingGrowsInASoak(t *testing.T) {
	program.NeedsLong(t)
	fresh := program.Serve(t)
	fresh.List(t)
	idle := goroutines(t, fresh)

	p := program.Serve(t)
	type reading struct {
		memory, wal int64
		files       int
	}
	take := func() reading { return reading{p.Memory(t, "VmRSS"), program.WALBytes(t, p), p.OpenFiles(t)} }
	var requests atomic.Int64
	soak(t, p, *program.Long/3, &requests)
	first := take()
	soak(t, p, *program.Long-*program.Long/3, &requests)
	last := take()
	left := goroutines(t, p)

	t.Logf("%d requests in %s; after a third %+v; at the end %+v; goroutines %d, of a fresh program %d",
		requests.Load(), *program.Long, first, last, left, idle)
	memoryGrew := last.memory > first.memory+first.memory/4+8<<20
	walGrew := last.wal > max(2*first.wal, 80<<20) // 64 MB are usual
	if memoryGrew || walGrew || last.files > first.files+2 || left > idle+5 {
		t.Error("something has grown")
	}
}

// soak has clients create, delete and list for a while. About a thousand users exist at a time. Nothing may fail.
func soak(t *testing.T, p *program.Program, during time.Duration, requests *atomic.Int64) {
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
	closeConnections(t, p)
}

// closeConnections closes the clients' connections, and returns when the program has too.
func closeConnections(t *testing.T, p *program.Program) {
	t.Helper()
	program.Client().CloseIdleConnections()
	program.WaitFor(t, "every connection is closed", func() bool {
		_, clients := p.Sockets(t)
		return clients == 0
	})
}

// goroutines ends the program with SIGQUIT, which makes Go's runtime print every goroutine, and counts them.
func goroutines(t *testing.T, p *program.Program) int {
	t.Helper()
	closeConnections(t, p)
	p.Signal(syscall.SIGQUIT)
	p.Wait(t)
	return strings.Count(p.Log(), "\ngoroutine ")
}
