package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestStalledClientsAreClosedAndDelayNoOthers(t *testing.T) {
	t.Parallel()
	program.NeedsLong(t)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(200_000)
	p.List(t)
	before, calm := p.OpenFiles(t), pace(t, p, "calm", 5*time.Second)

	stalledAt := time.Now()
	stall(t, p, 100, "GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
	stall(t, p, 800, "GET /api/users HTTP/1.1\r\nHost: x\r\nX-Half: ")
	stall(t, p, 100, "POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"name\":")
	slow := make(chan error, 1)
	go func() { slow <- readSlowly(p, 200_000, 35*time.Second) }()
	stalled := pace(t, p, "stalled", 10*time.Second)

	if err := <-slow; err != nil {
		t.Errorf("a slow reader that makes progress: %v", err)
	}
	for p.OpenFiles(t) > before+10 && time.Since(stalledAt) < 3*time.Minute {
		time.Sleep(time.Second)
	}
	closed := time.Since(stalledAt).Round(time.Second)
	t.Logf("calm %s; among stalled clients %s; all of them closed after %s; peak memory %s",
		calm, stalled, closed, mib(p.Memory(t, "VmHWM")))
	if closed > 140*time.Second { // a stalled reader is given 60 s, and one more for each KiB that its system took
		t.Errorf("a stalled connection was open for %s", closed)
	}
	if peak := p.Memory(t, "VmHWM"); peak > 256<<20 {
		t.Errorf("the peak of memory is %s", mib(peak))
	}
}

// stall opens connections that send the beginning of a request, and then neither send nor read.
func stall(t *testing.T, p *program.Program, n int, beginning string) {
	t.Helper()
	for range n {
		conn := p.Dial(t)
		conn.Buffer(4096)
		conn.Send("%s", beginning)
	}
}

// readSlowly reads the list at a steady pace over a time, and checks that it is whole.
func readSlowly(p *program.Program, users int, over time.Duration) error {
	response, err := http.Get(p.URL + "/api/users")
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	const steps = 200
	size := response.ContentLength
	if size < 0 {
		size = int64(users) * 100
	}
	var body strings.Builder
	for range steps {
		time.Sleep(over / steps) // the test is about slowness
		if _, err := io.CopyN(&body, response.Body, size/steps); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("after %d bytes: %w", body.Len(), err)
		}
	}
	if _, err := io.Copy(&body, response.Body); err != nil {
		return fmt.Errorf("after %d bytes: %w", body.Len(), err)
	}
	var list []program.User
	if err := json.Unmarshal([]byte(body.String()), &list); err != nil {
		return err
	}
	if len(list) < users {
		return fmt.Errorf("%d users of %d", len(list), users)
	}
	return nil
}

// A rhythm is how long one client waited for its answers.
type rhythm struct{ creation, list time.Duration }

func (r rhythm) String() string {
	return fmt.Sprintf("a creation took %s and a list %s",
		r.creation.Round(10*time.Microsecond), r.list.Round(time.Millisecond))
}

// pace creates and lists for a while, one after the other, and returns the mean times.
func pace(t *testing.T, p *program.Program, name string, during time.Duration) rhythm {
	t.Helper()
	var creations, lists time.Duration
	n := 0
	for began := time.Now(); time.Since(began) < during; n++ {
		start := time.Now()
		for i := range 10 {
			p.Create(t, "n", fmt.Sprintf("%s-%d-%d", name, n, i))
		}
		created := time.Now()
		if answer := p.Do(t, "GET", "/api/users", ""); answer.Status != 200 {
			t.Errorf("a list was answered %d", answer.Status)
		}
		creations += created.Sub(start) / 10
		lists += time.Since(created)
	}
	return rhythm{creations / time.Duration(n), lists / time.Duration(n)}
}

func TestTwoThousandClientsAtOnceAreServed(t *testing.T) {
	program.NeedsLong(t)
	p := program.Serve(t)
	pace(t, p, "before", time.Second)
	calm := pace(t, p, "calm", time.Second)
	began := time.Now()
	var wait sync.WaitGroup
	for i := range 2000 {
		wait.Go(func() {
			for n := range 5 {
				answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprintf("%d-%d", i, n)))
				if err != nil || answer.Status != 201 {
					t.Errorf("answered %d %s, %v", answer.Status, answer.Body, err)
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began).Round(time.Millisecond)
	afterwards := pace(t, p, "after", time.Second)
	t.Logf("10,000 creations in %s; before %s, in the second afterwards %s; peak memory %s",
		took, calm, afterwards, mib(p.Memory(t, "VmHWM")))
	if peak := p.Memory(t, "VmHWM"); peak > 256<<20 {
		t.Errorf("the peak of memory is %s", mib(peak))
	}
}

// A reading is what must not grow in a long run.
type reading struct {
	memory, wal int64
	files       int
}

func (r reading) String() string {
	return fmt.Sprintf("%s, %d files, -wal %d KiB", mib(r.memory), r.files, r.wal>>10)
}

func take(t *testing.T, p *program.Program) reading {
	t.Helper()
	return reading{p.Memory(t, "VmRSS"), program.WALBytes(t, p), p.OpenFiles(t)}
}

func TestNothingGrowsInASoak(t *testing.T) {
	program.NeedsLong(t)
	fresh := program.Serve(t)
	fresh.List(t)
	idle := goroutines(t, fresh)

	p := program.Serve(t)
	var requests atomic.Int64
	soak(t, p, *program.Long/3, &requests)
	first := take(t, p)
	soak(t, p, *program.Long-*program.Long/3, &requests)
	last := take(t, p)
	left := goroutines(t, p)

	t.Logf("%d requests in %s; after a third %s; at the end %s; goroutines %d, of a fresh program %d",
		requests.Load(), *program.Long, first, last, left, idle)
	memoryGrew := last.memory > first.memory+first.memory/4+8<<20
	walGrew := last.wal > max(2*first.wal, 80<<20) // 64 MB are usual
	if memoryGrew || walGrew || last.files > first.files+2 || left > idle+5 {
		t.Error("something has grown")
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

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
