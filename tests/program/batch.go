package program

import (
	"net/http"
	"sync"
	"testing"
)

// AtOnce sends n requests while another program holds the write lock, so that one commit takes them all. It returns
// their answers. Each request is its first line and its body.
func AtOnce(t *testing.T, p *Program, other *Other, n int, request func(i int) (line, body string)) []Answer {
	t.Helper()
	answers := make([]Answer, n)
	conns := make([]*Conn, n)
	for i := range conns {
		line, body := request(i)
		conns[i] = p.BeginRequest(t, line, body)
	}
	other.HoldWrites()
	for i := range conns {
		_, body := request(i)
		conns[i].Send("%s", body) // every handler runs until its write waits
	}
	p.Do(t, "GET", "/api/users", "")
	other.LetGo()
	var wait sync.WaitGroup
	for i := range conns {
		wait.Go(func() { answers[i] = conns[i].Answer() })
	}
	wait.Wait()
	return answers
}

// ExpectStored compares the list with the answers: it has each user that was answered 201, with its id, those that
// were there before, and no other.
func ExpectStored(t *testing.T, p *Program, answers []Answer, before int) {
	t.Helper()
	listed := map[int64]string{}
	for _, user := range p.List(t) {
		listed[user.ID] = user.Email
	}
	for _, answer := range answers {
		if answer.Status != http.StatusCreated {
			continue
		}
		if user := answer.User(t); listed[user.ID] != user.Email {
			t.Errorf("%d was answered for %s and is %q", user.ID, user.Email, listed[user.ID])
		}
	}
	if want := Count(answers, 201) + before; len(listed) != want {
		t.Errorf("%d users are listed and %d were answered", len(listed), want)
	}
}
