package tests

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

func etagOf(t *testing.T, p *program.Program, id any) string {
	t.Helper()
	return p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Header.Get("ETag")
}

func TestAnEntityTagAllowsOneChange(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for i, header := range []string{`%s`, `"x", %s`, `%s,"y"`, "\"x\" ,\t%s", `"a,b", %s`} {
		old := etagOf(t, p, 1)
		body := fmt.Sprintf(`{"name":"Ada %d"}`, i)
		header = "If-Match: " + fmt.Sprintf(header, old)
		first := p.Do(t, "PATCH", "/api/users/1", body, header)
		if first.Status != 200 || first.Header.Get("ETag") == old {
			t.Fatalf("%s is answered %d %s", header, first.Status, first.Body)
		}
		expectStale(t, p.Do(t, "PUT", "/api/users/1", both, header), first.Header.Get("ETag"))
		expectStale(t, p.Do(t, "DELETE", "/api/users/1", "", header), first.Header.Get("ETag"))
	}
	now := etagOf(t, p, 1)
	for _, weak := range []string{"W/" + now, "w/" + now, strings.Trim(now, `"`), `"x"`} {
		expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+weak), now)
	}
	if answer := p.Do(t, "DELETE", "/api/users/1", "", "If-Match: "+now); answer.Status != 204 {
		t.Errorf("its own entity tag is answered %d %s", answer.Status, answer.Body)
	}
}

func expectStale(t *testing.T, answer program.Answer, current string) {
	t.Helper()
	if answer.Status != http.StatusPreconditionFailed || answer.Body != changed {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	expectHeader(t, answer, "ETag", current)
}

func TestTwoLinesOfIfMatchAreOne(t *testing.T) {
	t.Parallel()
	p := readable(t)
	conn := p.Dial(t)
	conn.Send("PATCH /api/users/1 HTTP/1.1\r\nHost: x\r\nIf-Match: \"x\"\r\nIf-Match: %s\r\n", etagOf(t, p, 1))
	conn.Send("Content-Length: 2\r\n\r\n{}")
	if answer := conn.Answer(); answer.Status != 200 {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
}

// Another program's change counts as well.
func TestAnEntityTagIsOfTheUserAsItIsStored(t *testing.T) {
	t.Parallel()
	p := readable(t)
	old := etagOf(t, p, 1)
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET name = 'Countess' WHERE id = 1")
	expectStale(t, p.Do(t, "PATCH", "/api/users/1", both, "If-Match: "+old), etagOf(t, p, 1))
}

func TestOfManyClientsWithOneEntityTagExactlyOneWins(t *testing.T) {
	t.Parallel()
	p := readable(t)
	etag := etagOf(t, p, 1)
	answers := make([]program.Answer, 20)
	var wait sync.WaitGroup
	for i := range answers {
		method, body := "PATCH", fmt.Sprintf(`{"name":"%d"}`, i)
		if i%5 == 4 {
			method, body = "DELETE", ""
		}
		wait.Go(func() { answers[i], _ = p.Send(method, "/api/users/1", body, "If-Match: "+etag) })
	}
	wait.Wait()
	won, gone := count(answers, 200)+count(answers, 204), count(answers, 204) == 1
	if lost := count(answers, 412) + count(answers, 404); won != 1 || lost != 19 || !gone && count(answers, 404) > 0 {
		t.Errorf("%d won and %d lost: %v", won, lost, answers)
	}
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	p := start(t)
	id := p.Create(t, "0", "counter@example.org")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				if !increment(t, p, fmt.Sprintf("/api/users/%d", id)) {
					return
				}
			}
		})
	}
	wait.Wait()
	if name := p.List(t)[0].Name; name != "800" {
		t.Errorf("8 clients added 100 each, and the name is %s", name)
	}
}

// increment adds one to the number that is a user's name, and tries again when somebody else was faster.
func increment(t *testing.T, p *program.Program, path string) bool {
	for {
		read, err := p.Send("GET", path, "")
		if err != nil || read.Status != 200 {
			t.Errorf("reading: %d %s, %v", read.Status, read.Body, err)
			return false
		}
		var n int
		_, _ = fmt.Sscan(read.User(t).Name, &n)
		body := fmt.Sprintf(`{"name":"%d"}`, n+1)
		answer, err := p.Send("PATCH", path, body, "If-Match: "+read.Header.Get("ETag"))
		if err == nil && answer.Status == 200 {
			return true
		}
		if err != nil || answer.Status != 412 {
			t.Errorf("changing: %d %s, %v", answer.Status, answer.Body, err)
			return false
		}
	}
}
