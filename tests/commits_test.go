package tests

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"users-api/tests/program"
)

// atOnce sends n requests while another program holds the write lock, so that one commit takes them all. It returns
// their answers. Each request is its first line and its body.
func atOnce(t *testing.T, p *program.Program, other *program.Other, n int,
	request func(i int) (line, body string)) []program.Answer {
	t.Helper()
	answers := make([]program.Answer, n)
	conns := make([]*program.Conn, n)
	for i := range conns {
		line, body := request(i)
		conns[i] = p.Dial(t)
		conns[i].Send("%s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", line, len(body))
		conns[i].Expect("HTTP/1.1 100 Continue\r\n")
		conns[i].Expect("\r\n")
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

func TestADuplicateAmongAHundredFailsAlone(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "user50@example.org")
	answers := atOnce(t, p, program.OpenOther(t, p.DatabasePath()), 100, func(i int) (string, string) {
		return post, program.Body("n", fmt.Sprintf("user%d@example.org", i))
	})
	if count(answers, 201) != 99 || answers[50].Status != 500 {
		t.Fatalf("%d were created, and the duplicate was answered %d", count(answers, 201), answers[50].Status)
	}
	if answers[50].Body != duplicateEmail {
		t.Errorf("the duplicate was answered %s", answers[50].Body)
	}
	expectStored(t, p, answers, 1)
}

// expectStored compares the list with the answers: it has each user that was answered 201, with its id, those that
// were there before, and nobody else.
func expectStored(t *testing.T, p *program.Program, answers []program.Answer, before int) {
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
	if want := count(answers, 201) + before; len(listed) != want {
		t.Errorf("%d users are listed and %d were answered", len(listed), want)
	}
}

// A tableRule is a rule that another program's table may have, and what the error says that it makes of a write.
type tableRule struct {
	name, says string
	rules      []string
}

func TestARowThatTheTableRefusesFailsAlone(t *testing.T) {
	t.Parallel()
	for _, rule := range tableRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			other := program.OpenOther(t, p.DatabasePath())
			other.Do(rule.rules...)
			before := len(p.List(t))
			answers := atOnce(t, p, other, 20, func(i int) (string, string) {
				name := map[bool]string{true: "bad", false: fmt.Sprint("n", i)}[i == 7 || i == 13]
				return post, program.Body(name, fmt.Sprintf("%d@example.org", i))
			})
			if count(answers, 201) != 18 || answers[7].Status != 500 || !matches(answers[13].Body, rule.error()) {
				t.Errorf("%d were created, and the bad ones were answered %v", count(answers, 201), answers[13])
			}
			expectStored(t, p, answers, before)
		})
	}
}

// error is the body of the answer to a write that the rule refuses.
func (r tableRule) error() string { return errorBody("…" + r.says + "…") }
