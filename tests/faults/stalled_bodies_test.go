package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// A request without a body to wait for is answered at once, and its connection is closed all the same.
func TestABodyThatStallsIsAnswered408(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	t.Cleanup(func() { program.Forbid(t, p.Log(), "level=ERROR") })
	const late = `{"error":"The request body did not arrive in time"}`
	const begun = " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
	const chunks = " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
	tests := []struct {
		name, beginning string
		status          int
		answer          string
	}{
		{"with a length", program.PostUsers + "Content-Length: 100\r\n\r\n" + `{"name":`, 408, late},
		{"in chunks", program.PostChunks + "8\r\n" + `{"name":` + "\r\n", 408, late},
		{"in the size of a chunk", "PUT /api/users/1" + chunks + "\r\n5", 408, late},
		{"of HTTP/1.0", "POST /api/users HTTP/1.0\r\nContent-Length: 100\r\n\r\n{", 408, late},
		{"of a change", "PATCH /api/users/1" + begun + "\r\n", 408, late},
		{"of a deletion, which needs none", "DELETE /api/users/7" + begun + "\r\n", 404, `{"error":"User not found"}`},
		{"of a list", "GET /api/users" + chunks + "\r\n", 200, "[]"},
		{"of health", "GET /health" + begun + "\r\nx", 200, `{"status":"ok"}`},
		{"of an unknown path", "POST /nothing" + begun + "\r\n", 404, `{"error":"Not found"}`},
		{"of another site", "POST /api/users" + begun + "Origin: http://y\r\n\r\n", 403, `{"error":"…another site…"}`},
		{"of a file of another site", "POST " + program.CSV + chunks + "Origin: http://y\r\n\r\n", 403, `{"error":"…another site…"}`},
		{"of a form", "POST " + program.CSV + begun + "Content-Type: multipart/form-data; boundary=x\r\n\r\n", 415, `{"error":"…"}`},
		{"of a file that is announced", "POST " + program.NDJSON + "?x" + begun + "Expect: 100-continue\r\n\r\n", 400, `{"error":"…"}`},
		{"after an unknown expectation", "POST /api/users" + begun + "Expect: miracles\r\n\r\n", 417, ""},
	}
	conns := make([]*program.Conn, len(tests)) // they stall at once
	for i, test := range tests {
		conns[i] = p.Dial(t)
		conns[i].Send("%s", test.beginning)
	}
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers := conns[i].Answers() // until the close: nothing can follow half a body
			if len(answers) != 1 || answers[0].Status != test.status || !program.Matches(answers[0].Body, test.answer) {
				t.Fatalf("the answers are %v", answers)
			}
		})
	}
}

func TestHeadersThatStallCloseTheConnection(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	silent, begun := p.Dial(t), p.Dial(t)
	begun.Send("GET /health HTTP/1.1\r\nHost:")
	for _, conn := range []*program.Conn{silent, begun} {
		if answers := conn.Answers(); program.Count(answers, 200) > 0 {
			t.Errorf("the answers are %v", answers)
		}
	}
}

func TestLargeBodiesThatNeverEndTakeLittleMemoryAndDelayNoSmallOne(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	almost := []byte(`{"name":"` + strings.Repeat("a", 1<<20-26) + `","email":"a@b"`) // 1 MiB without the last byte
	for range 400 {                                                                   // twice the bound below
		conn := p.Dial(t)
		conn.Send("%sContent-Length: %d\r\n\r\n", program.PostUsers, len(almost)+1)
		go conn.Write(almost) //nolint:errcheck // it waits while the program does not read
	}
	created := 0
	peak := settle(t, func() int64 {
		p.Create(t, "n", fmt.Sprint(created))
		created++
		return p.Memory(t, "VmHWM")
	})
	t.Logf("%d users were created meanwhile; the peak of memory is %d MiB", created, peak>>20)
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
	p.Do(t, "POST", program.NDJSON, strings.ReplaceAll(rows.String(), `\x1f`, `\u001f`))
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

// settle returns a figure once it has not changed for 2 s.
func settle(t *testing.T, figure func() int64) int64 {
	t.Helper()
	last, since := figure(), time.Now()
	program.WaitFor(t, "a figure settles", func() bool {
		if now := figure(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	return last
}
