package faults

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestLargeBodiesThatNeverEndTakeLittleMemoryAndDelayNoSmallOne(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	almost := []byte(`{"name":"` + strings.Repeat("a", 1<<20-26) + `","email":"a@b"`) // 1 MiB without the last byte
	for range 400 {                                                                   // twice the bound below
		conn := p.Dial(t)
		conn.Send("%sContent-Length: %d\r\n\r\n", program.PostUsers, len(almost)+1)
		go conn.Write(almost) //nolint:errcheck // it waits while the program does not read
	}
	for i := range 300 {
		p.Create(t, "n", fmt.Sprint(i))
	}
	peak := p.Memory(t, "VmHWM")
	t.Logf("the peak of memory is %d MiB", peak>>20)
	if peak > program.MemoryBound(200<<20) {
		t.Errorf("the peak of memory is %d MiB", peak>>20)
	}
}

// Clients that ask for a page of the feed and do not read it hold at most 128 KiB each.
func TestSlowReadersOfTheFeedTakeLittleMemory(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "{\"name\":%q,\"email\":\"%d\"}\n", strings.Repeat("\u001f", 10_000), i)
	}
	p.Do(t, "POST", program.NDJSON, strings.ReplaceAll(rows.String(), `\x1f`, `\u001f`)).Expect(t, 200, program.Imported(100, 0, 0, 0))
	var readers []*program.Conn
	for range 150 {
		conn := p.Dial(t)
		conn.Buffer(4096)
		conn.Send("GET /api/changes?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
		readers = append(readers, conn)
	}
	for _, conn := range readers {
		conn.Begin()
	}
	peak := p.Memory(t, "VmHWM")
	t.Logf("the peak of memory is %d MiB", peak>>20)
	if peak > program.MemoryBound(160<<20) {
		t.Errorf("the peak of memory is %d MiB", peak>>20)
	}
}
