package load

import (
	"fmt"
	"sync"
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
	open := func() int { return len(program.NamesIn(t, fmt.Sprintf("/proc/%d/fd", p.PID()))) }
	before, began := open(), time.Now()
	for beginning, n := range map[string]int{
		"GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n":                                   100, // it is not read
		"GET /api/users HTTP/1.1\r\nHost: x\r\nX-Half: ":                               800,
		"POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"name\":": 100,
	} {
		for range n {
			conn := p.Dial(t)
			conn.Buffer(4096)
			conn.Send("%s", beginning)
		}
	}
	for i := range 5 {
		p.Create(t, "n", fmt.Sprint(i))
		p.List(t)
	}
	if now := open(); now < before+100 { // a reader is given 60 s
		t.Errorf("others are answered only once those are closed: %d files are open, and %d were before", now, before)
	}
	for open() > before+10 && time.Since(began) < 3*time.Minute {
		time.Sleep(time.Second)
	}
	// A stalled reader is given 60 s, and one more for each KiB that its system took.
	if closed := time.Since(began); closed > 140*time.Second {
		t.Errorf("a stalled connection was open for %s", closed)
	}
	p.ExpectMemory(t, 256)
}

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

func TestAListThatHasBecomeSmallEnoughIsKeptAgain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LIST_MEMORY_MIB=1", "ADMIN_PORT=0")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(20_000)
	p.List(t)
	lists := func() map[string]float64 { return program.Scrape(t, p)["users_api_list_total"] }
	program.Expect(t, "lists that are not kept", lists()["result=uncached"], 1)
	other.Do("DELETE FROM users WHERE id > 5")
	program.WaitFor(t, "a list comes from memory", func() bool {
		program.Expect(t, "users of a list", len(p.List(t)), 5)
		return lists()["result=cached"] > 0
	})
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
