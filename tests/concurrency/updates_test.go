package concurrency

import (
	"fmt"
	"sync"
	"testing"

	"users-api/tests/program"
)

func TestOfManyClientsWithOneEntityTagExactlyOneWins(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	etag := program.ETag(t, p, p.Create(t, "Ada", "ada@example.org"))
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
	won, gone := program.Count(answers, 200)+program.Count(answers, 204), program.Count(answers, 204) == 1
	if lost := program.Count(answers, 412) + program.Count(answers, 404); won != 1 || lost != 19 || !gone && program.Count(answers, 404) > 0 {
		t.Errorf("%d won and %d lost: %v", won, lost, answers)
	}
}

func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	id := p.Create(t, "0", "counter@example.org")
	times := program.Times(10, 100)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range times {
				if !increment(t, p, fmt.Sprintf("/api/users/%d", id)) {
					return
				}
			}
		})
	}
	wait.Wait()
	if name := p.List(t)[0].Name; name != fmt.Sprint(8*times) {
		t.Errorf("8 clients added %d each, and the name is %s", times, name)
	}
}

// increment adds one to the number that is a user's name, and tries again when another client was faster.
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
