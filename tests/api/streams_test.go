package api

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// stream is a stream of changes that a client reads.
type stream struct {
	*http.Response
	lines *bufio.Scanner
	leave context.CancelFunc
}

// follow opens a stream, and expects it.
func follow(t *testing.T, p *program.Program, query string, header ...string) stream {
	t.Helper()
	ctx, leave := context.WithTimeout(t.Context(), program.Patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/api/changes"+query, nil)
	program.Must(t, err)
	request.Header.Set("Accept", "text/event-stream")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	program.Must(t, err)
	t.Cleanup(func() { leave(); _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("the stream is answered %d %s", response.StatusCode, got)
	}
	return stream{response, bufio.NewScanner(response.Body), leave}
}

// next returns the lines of the next event or comment, or "" at the end.
func (s stream) next() (block string) {
	for s.lines.Scan() && s.lines.Text() != "" {
		block += s.lines.Text() + "\n"
	}
	return block
}

func expectBlock(t *testing.T, s stream, want string) (id string) {
	t.Helper()
	got := s.next()
	if !program.Matches(got, want) {
		t.Errorf("the stream has %q, want %q", got, want)
	}
	id, _, _ = strings.Cut(strings.TrimPrefix(got, "id: "), "\n")
	return id
}

func TestAStreamHasChangesGoesOnWhereItWasAndEndsWithTheFeed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	first := follow(t, p, "", "X-Request-Id: mine")
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "",
		"Content-Length": ""} {
		program.ExpectHeader(t, program.Answer{Header: first.Header}, name, want)
	}
	expectBlock(t, first, ":\n") // at once
	p.Create(t, "Ada\nKing", "a@b")
	id := expectBlock(t, first, "id: …\ndata: {\"cursor\":…,\"op\":\"created\",\"id\":1,\"at\":…,\"user\":{…\"Ada\\nKing\"…}}\n")
	program.OpenOther(t, p.DatabasePath()).Do("DELETE FROM users")
	last := expectBlock(t, first, "id: …\ndata: {\"cursor\":…,\"op\":\"deleted\",\"id\":1,\"at\":…}\n")
	first.leave()
	program.Forbid(t, p.Line(t, "request_id=mine"), "level=ERROR", "cut_by=storage")
	p.WaitForLog(t, "cut_by=client")
	again := follow(t, p, "?after=refused", "Last-Event-ID: "+id)
	if got := expectBlock(t, again, "id: …\ndata: {…\"op\":\"deleted\"…}\n"); got != last {
		t.Errorf("after %s comes %s, want %s", id, got, last)
	}
	limited := follow(t, p, "?limit=1")
	expectBlock(t, limited, "id: …\"op\":\"created\"…\n")
	expectBlock(t, limited, "id: …\"op\":\"deleted\"…\n")
	expectBlock(t, limited, ":\n") // nothing follows
	p.Run(t, "changes", "off").MustSucceed(t)
	expectEnd(t, limited)
	p.Do(t, "GET", "/api/changes", "").Expect(t, 404, noFeed)
	program.Forbid(t, p.Log(), "Ada", "a@b")
}

func TestAStreamIsForClientsThatPreferIt(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	const json, events = "application/json; charset=utf-8", "text/event-stream"
	for accept, want := range map[string]string{
		"text/event-stream": events, "TEXT/Event-Stream;charset=utf-8": events, "text/event-stream, */*": events,
		"text/event-stream;q=0.9, application/json;q=0.8": events, "application/problem+json, text/event-stream": events,
		"application/json, text/event-stream": json, "text/event-stream, application/json": json,
		"text/event-stream;q=0.8, application/json;q=0.9": json, "text/event-stream;q=0": json, "text/event-stream;q=x": json,
		"*/*": json, "text/*": json, "": json, "text/html": json,
	} {
		program.ExpectHeader(t, p.Do(t, "HEAD", "/api/changes", "", "Accept: "+accept), "Content-Type", want)
	}
}

// A request that waits returns when another program writes, and an empty one after its time.
func TestARequestWaitsForTheNextChange(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t, "ADMIN_PORT=0")
	next := read(t, p, "").Next
	began := time.Now()
	if empty := read(t, p, "?wait=1&after="+next); len(empty.Changes) != 0 || time.Since(began) < time.Second {
		t.Errorf("after %s comes %v", time.Since(began), empty)
	}
	read(t, p, "?wait=0&after="+next)
	answered := make(chan program.Answer)
	go func() {
		answer, _ := p.Send("GET", "/api/changes?wait=60&after="+next, "")
		answered <- answer
	}()
	expectFollowers(t, p, 1)
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (name, email) VALUES ('Ada', 'a@b')")
	began = time.Now()
	if answer := <-answered; !strings.Contains(answer.Body, `"created"`) || time.Since(began) > 30*time.Second {
		t.Errorf("after %s it is answered %d %s", time.Since(began), answer.Status, answer.Body)
	}
	expectFollowers(t, p, 0)
}

// expectFollowers waits until so many clients wait.
func expectFollowers(t *testing.T, p *program.Program, n float64) {
	t.Helper()
	program.WaitFor(t, "the number of clients that wait", func() bool {
		return program.Scrape(t, p)["users_api_changes_followers"][""] == n
	})
}

func TestTooManyClientsThatWaitAreRefusedAndOneThatGoesMakesRoom(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t, "ADMIN_PORT=0")
	next := read(t, p, "").Next
	streams := make([]stream, 32)
	for i := range streams {
		streams[i] = follow(t, p, "")
		p.Dial(t).Send("GET /api/changes?wait=60&after=%s HTTP/1.1\r\nHost: x\r\n\r\n", next)
	}
	expectFollowers(t, p, 64)
	for query, accept := range map[string]string{"?wait=60&after=" + next: "*/*", "": "text/event-stream"} {
		answer := p.Do(t, "GET", "/api/changes"+query, "", "Accept: "+accept)
		answer.Expect(t, 503, `{"error":"Too many clients wait for changes: try again in a few seconds"}`)
		program.ExpectHeader(t, answer, "Retry-After", "5")
	}
	read(t, p, "?after="+next) // does not wait
	streams[0].leave()
	expectFollowers(t, p, 63)
	for i := range 20 { // the first ends the requests that wait
		p.Create(t, "Ada", fmt.Sprint(i))
	}
	expectFollowers(t, p, 31)
	want := ""
	for i, s := range streams[1:] { // all have the same changes in the same order
		got, block := "", ":\n"
		for block != "" && strings.Count(got, `"op":"created"`) < 20 {
			block = s.next()
			got += strings.TrimPrefix(block, ":\n")
		}
		if want = cmp.Or(want, got); got != want || strings.Count(got, `"op":"created"`) != 20 {
			t.Errorf("stream %d has\n%s, and the first\n%s", i, got, want)
		}
	}
}

// A stop ends streams as a response ends, and answers requests that wait, without the delay of 8 s after which it cuts clients off.
func TestAStopEndsStreamsAndRequestsThatWaitAtOnce(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t, "ADMIN_PORT=0")
	next := read(t, p, "").Next
	s := follow(t, p, "")
	expectBlock(t, s, ":\n")
	old := p.Dial(t) // as nginx asks
	old.Send("GET /api/changes HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n")
	old.Begin()
	waits := p.Dial(t)
	waits.Send("GET /api/changes?wait=60&after=%s HTTP/1.1\r\nHost: x\r\n\r\n", next)
	expectFollowers(t, p, 3)
	p.Stop(t)
	expectEnd(t, s)
	if text, clean := old.Rest(); !clean || !strings.HasSuffix(text, "\r\n\r\n:\n\n") {
		t.Errorf("the stream over HTTP/1.0 is %q, clean: %t", text, clean)
	}
	waits.Answer().Expect(t, 200, `{"changes":[],"next":"…`)
	program.Forbid(t, p.Log(), "cut_by", "level=ERROR", "level=WARN msg=\"some clients")
}

// A key may be removed while clients wait with it: what is written from then on is not for them.
func TestWhatAClientWaitsForIsNotSentOnceItsKeyIsRemoved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, file, fullKey+"\n"+otherKey)
	p := program.Serve(t, "API_KEY_FILE="+file)
	const stays, goes = "X-API-Key: " + fullKey, "X-API-Key: " + otherKey
	p.RecordChanges(t, stays)
	s := follow(t, p, "", goes)
	expectBlock(t, s, ":\n")
	waits := p.Dial(t)
	waits.Send("GET /api/changes?wait=60 HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", goes)
	program.WriteFile(t, file, fullKey)
	program.WaitFor(t, "the key is refused", func() bool { return p.Do(t, "GET", "/api/users", "", goes).Status == 401 })
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada"), stays).Expect(t, 201, "…")
	expectEnd(t, s)
	waits.Answer().Expect(t, 200, `{"changes":[],"next":"…"}`)
}

// expectEnd expects that a stream ends as a response ends.
func expectEnd(t *testing.T, s stream) {
	t.Helper()
	if block := s.next(); block != "" || s.lines.Err() != nil {
		t.Errorf("the stream goes on with %q, and ends with %v", block, s.lines.Err())
	}
}
