package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// feed is a response of the feed.
type feed struct {
	Changes []entry
	Next    string

	bytes int // of the body
}

type entry struct {
	Cursor, Op, At string
	ID             int64
	User           *program.User
}

func (e entry) String() string {
	if e.User == nil {
		return fmt.Sprint(e.Op, " ", e.ID)
	}
	return fmt.Sprint(e.Op, " ", e.ID, " ", e.User.Name)
}

// read reads the feed, and expects 200.
func read(t *testing.T, p *program.Program, query string) (read feed) {
	t.Helper()
	answer := p.Do(t, "GET", "/api/changes"+query, "")
	answer.Expect(t, 200, "…")
	program.Must(t, json.Unmarshal([]byte(answer.Body), &read))
	read.bytes = len(answer.Body)
	return read
}

const (
	noFeed = `{"error":"Changes are not recorded: CHANGES_KEEP is 0"}`
	gone   = `{"error":"These changes are no longer there: export all users again, and go on from its Changes-Cursor"}`
)

func TestTheFeedHasWhatWasDone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Do(t, "GET", "/api/changes", "").Expect(t, 200, `{"changes":[],"next":"…"}`)
	p.Create(t, "Ada", "a@b")
	p.Create(t, "Alan", "b@b")
	p.Change(t, 1, `{"name":"Augusta"}`)
	p.Delete(t, 2)
	p.Do(t, "PUT", "/api/users/1", `{"name":"Countess","email":"a@b"}`)
	p.Feed(t, "", `…"deleted"…"changed"…`)
	all := read(t, p, "")
	program.Expect(t, "the feed", all.Changes, "[created 1 Countess created 2 changed 1 Countess deleted 2 changed 1 Countess]")
	program.Expect(t, "whether "+all.Changes[0].At+" is a time", program.IsTime(all.Changes[0].At), true)
	program.Expect(t, "next", all.Next, all.Changes[4].Cursor)
	for i, change := range all.Changes {
		rest := read(t, p, "?limit=1&after="+change.Cursor)
		program.Expect(t, "what follows "+change.Cursor, rest.Changes, all.Changes[i+1:min(i+2, 5)])
	}
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'unseen'")
	program.Expect(t, "what the feed has of another program's write", read(t, p, "?after="+all.Next).Changes, "[]")
	get := p.Do(t, "GET", "/api/changes", "", "Accept: text/event-stream") // what EventSource asks for
	program.ExpectHeader(t, get, "Cache-Control", "no-store")
	program.ExpectHeader(t, get, "Content-Type", "application/json; charset=utf-8")
}

func TestWhatTheFeedRefuses(t *testing.T) {
	t.Parallel()
	off, on := program.Serve(t, "CHANGES_KEEP=0"), program.Serve(t)
	next := read(t, on, "").Next
	for query, says := range map[string]string{
		"limit=0": "The parameter limit must be a whole number from 1 to 1000", "wait=61": "The parameter wait must be a whole number from 0 to 60",
		"after=":          "The parameter after must be a cursor, such as next of a response",
		"after=1&after=2": "The parameter after must be given once, as a cursor, such as next of a response",
		"since=1":         `Unknown parameter "since": the feed of changes takes after, limit and wait`,
	} {
		refused := on.Do(t, "GET", "/api/changes?"+query, "")
		refused.Expect(t, 400, program.ErrorBody(says))
		expectProblem(t, on.Do(t, "GET", "/api/changes?"+query, "", "Accept: "+problemType), refused)
	}
	for _, cursor := range []string{"1", "x y", "9223372036854775807", "99999999999999999999999", "+" + next, "0" + next, next + "x", next + "0"} {
		path := "/api/changes?after=" + url.QueryEscape(cursor)
		on.Do(t, "GET", path, "").Expect(t, 410, gone)
		on.Do(t, "GET", path, "", "Accept: "+problemType).Expect(t, 410, `…"code":"cursor_gone"}`)
	}
	off.Create(t, "Ada", "a@b")
	for _, request := range []string{"GET /api/changes?wait=60", "GET /api/users/1/changes", "DELETE /api/users/1/changes", "GET /api/users/deleted",
		"POST /api/users/1/restore"} {
		off.Ask(t, request, "").Expect(t, 404, noFeed)
		off.Ask(t, request, "", "Accept: "+problemType).Expect(t, 404, `…"code":"changes_off"}`)
	}
	program.ExpectHeader(t, off.Do(t, "GET", "/api/users", ""), "Changes-Cursor", "")
}

// Lists and exports say where the feed goes on: with what is written after them.
func TestListsAndExportsSayWhereTheFeedGoesOn(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	id := p.Create(t, "Ada", "a@b")
	for i, request := range []string{"GET /api/users", "HEAD /api/users", "GET /api/users?limit=1", "GET /api/users?q=a&count=true", "GET " + program.CSV,
		"GET " + program.NDJSON + "?email=a@b", "GET /api/users\nIf-None-Match: *", "GET /api/users?limit=1\nIf-None-Match: *"} {
		answer := p.Ask(t, request, "")
		name := fmt.Sprint("Ada ", i)
		p.Change(t, id, program.Body(name, "a@b"))
		next := read(t, p, "?wait=60&after="+answer.Header.Get("Changes-Cursor"))
		if program.PostgreSQL { // what the response has may come again
			next.Changes = next.Changes[max(0, len(next.Changes)-1):]
		}
		program.Expect(t, "what comes after "+request, next.Changes, fmt.Sprintf("[changed %d %s]", id, name))
	}
	program.ExpectHeader(t, p.Do(t, "GET", "/api/users?limit=0", ""), "Changes-Cursor", "") // of a refusal
}

// A response has at most 128 KiB, and one user more where that one is longer. Control characters take six bytes each.
func TestALargeResponseOfTheFeedIsSplit(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for i, bytes := range []int{300 << 10, 9000, 9000, 9000, 300 << 10, 300 << 10} {
		p.Create(t, strings.Repeat("\x01", bytes/6), fmt.Sprint(i))
	}
	for i := range 10 { // each entry has the whole user
		p.Change(t, 2, fmt.Sprintf(`{"name":"%d%s"}`, i, strings.Repeat("n", 30<<10)))
	}
	ids, most := []int64{}, 0
	for _, part := range responses(t, p, "", 16) {
		if part.bytes > 128<<10 && len(part.Changes) > 1 {
			t.Errorf("a response with %d users has %d bytes", len(part.Changes), part.bytes)
		}
		for _, change := range part.Changes {
			ids = append(ids, change.ID)
		}
		most = max(most, len(part.Changes))
	}
	program.Expect(t, "the users", ids, "[1 2 3 4 5 6 2 2 2 2 2 2 2 2 2 2]")
	program.Expect(t, "how many entries of 30 KiB fit", most, 4)
}

// responses returns those behind a cursor, as "&after=…" or "", once they have so many entries.
func responses(t *testing.T, p *program.Program, after string, entries int) (parts []feed) {
	t.Helper()
	program.WaitFor(t, fmt.Sprint("the feed has ", entries, " entries"), func() bool { // on PostgreSQL, transactions of others hold it back
		parts = nil
		found, part := 0, read(t, p, "?limit=1000"+after)
		for ; len(part.Changes) > 0; part = read(t, p, "?limit=1000&after="+part.Next) {
			parts, found = append(parts, part), found+len(part.Changes)
		}
		return found == entries
	})
	return parts
}

// A request that waits returns when another process of the service writes, and an empty one after its time.
func TestARequestWaitsForTheNextChange(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	next := read(t, p, "").Next
	began := time.Now()
	p.Do(t, "GET", "/api/changes?wait=1&after="+next, "").Expect(t, 200, `{"changes":[],…`)
	program.Expect(t, "whether it has waited", time.Since(began) >= time.Second, true)
	answered := p.Begin(t, "GET /api/changes?wait=60&after="+next, "")
	expectFollowers(t, p, 1)
	program.Serve(t, "DATA_DIR="+p.DataDir).Create(t, "Ada", "a@b")
	began = time.Now()
	(<-answered).Expect(t, 200, `…"created"…`)
	program.Expect(t, "whether it waited for longer", time.Since(began) > 30*time.Second, false)
	expectFollowers(t, p, 0)
}

// expectFollowers waits until so many clients wait.
func expectFollowers(t *testing.T, p *program.Program, n float64) {
	t.Helper()
	program.WaitFor(t, "the number of clients that wait", func() bool {
		return program.Scrape(t, p)["users_api_changes_followers"][""] == n
	})
}

// A stop answers those that wait, without the delay of 8 s after which it cuts clients off.
func TestTooManyClientsThatWaitAreRefusedAndOneThatGoesMakesRoom(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	next := read(t, p, "").Next
	clients := make([]*program.Conn, 64)
	for i := range clients {
		clients[i] = p.Dial(t)
		clients[i].Send("GET /api/changes?wait=60&after=%s HTTP/1.%d\r\nHost: x\r\n\r\n", next, i%2) // 1.0 is what nginx asks
	}
	expectFollowers(t, p, 64)
	answer := p.Do(t, "GET", "/api/changes?wait=60&after="+next, "")
	answer.Expect(t, 503, `{"error":"Too many clients wait for changes: try again in a few seconds"}`)
	program.ExpectHeader(t, answer, "Retry-After", "5")
	read(t, p, "?after="+next) // does not wait
	program.Must(t, clients[0].Close())
	expectFollowers(t, p, 63)
	p.Stop(t)
	for _, client := range clients[1:] {
		client.Answer().Expect(t, 200, `{"changes":[],"next":"…`)
	}
	program.Forbid(t, p.Log(), "cut_by=stop", "some clients were cut off")
}
