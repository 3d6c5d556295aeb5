package api

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"users-api/tests/program"
)

// fastest runs what it is given a few times and returns the shortest time: a busy machine only adds to it.
func fastest(times int, prepare, measured func()) time.Duration {
	shortest := time.Hour
	for range times {
		prepare()
		began := time.Now()
		measured()
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

// The next list after a creation is the old one and one more user. Reading 200,000 users anew takes 100 times as long,
// and a write that has changed nothing is no reason for it.
func TestAWriteThatChangesNothingDoesNotMakeTheNextListSlow(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Mended)
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(200_000)
	p.List(t)
	created := 0
	next := func(before func()) func() { // a creation after another write
		return func() {
			before()
			p.Create(t, "n", fmt.Sprint(created))
			created++
		}
	}
	head := func() { p.Do(t, http.MethodHead, "/api/users", "") }
	anew := fastest(3, next(func() { other.Do("UPDATE users SET name = name || 'x' WHERE id = 1") }), head)
	for name, write := range map[string]func(){
		"a deletion of no user": func() { p.Do(t, "DELETE", "/api/users/900000", "") },
		"a refused creation":    func() { p.Do(t, "POST", "/api/users", program.Body("n", "user1@example.org")) },
		"a body without names":  func() { p.Do(t, "POST", "/api/users", "{}") },
	} {
		took := fastest(5, next(write), head)
		t.Logf("after %s the list takes %s, and %s when it is read anew", name, took, anew)
		if took > anew/4 {
			t.Errorf("after %s the list takes %s, and %s when it is read anew", name, took, anew)
		}
	}
}

func TestAWriteThatChangesNothingKeepsTheETag(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := p.Do(t, http.MethodGet, "/api/users", "").Header.Get("ETag")
	p.Do(t, "DELETE", "/api/users/2", "")
	p.Do(t, "POST", "/api/users", program.Body("n", "ada@example.org"))
	if answer := p.Do(t, http.MethodGet, "/api/users", "", "If-None-Match: "+etag); answer.Status != 304 {
		t.Errorf("the list is answered %d", answer.Status)
	}
}
