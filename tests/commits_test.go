package tests

import (
	"fmt"
	"net/http"
	"strings"
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
	other.Do("BEGIN IMMEDIATE")
	for i := range conns {
		_, body := request(i)
		conns[i].Send("%s", body) // every handler runs until its write waits
	}
	p.Do(t, "GET", "/api/users", "")
	other.Do("COMMIT")
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
	if want := `{"error":"constraint failed: UNIQUE constraint failed: users.email (2067)"}`; answers[50].Body != want {
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

// Rules that another program's table may have, and what a creation of the name "bad" among others is told.
var tableRules = []struct {
	name  string
	rules []string
	says  string
}{
	{"a trigger that aborts", []string{`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(ABORT, 'not him'); END`}, "not him"},
	{"a trigger that fails after it stored something", []string{`CREATE TRIGGER r AFTER INSERT ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(FAIL, 'not him'); END`}, "not him"},
	{"a trigger that rolls back", []string{`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(ROLLBACK, 'not him'); END`}, "not him"},
	{"a trigger that ignores", []string{`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(IGNORE); END`}, "not stored: a rule of the users table ignored"},
	{"a trigger with INSERT OR FAIL", []string{
		"CREATE TABLE audit (what TEXT UNIQUE)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER INSERT ON users BEGIN INSERT OR FAIL INTO audit
		VALUES (iif(new.name = 'bad', 'bad', new.email)); END`}, "UNIQUE constraint failed: audit.what"},
	{"a trigger that writes to a table declared ON CONFLICT FAIL", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER INSERT ON users BEGIN INSERT INTO audit
		VALUES (iif(new.name = 'bad', 'bad', new.email)); END`}, "UNIQUE constraint failed: audit.what"},
	{"a check", []string{"DROP TABLE users", `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT,
		name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)`}, "CHECK constraint failed"},
	{"a uniqueness that rolls back", []string{"DROP TABLE users", `CREATE TABLE users (
		id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE ON CONFLICT ROLLBACK, email TEXT, created_at TEXT)`,
		"INSERT INTO users VALUES (1, 'bad', '', '')"}, "UNIQUE constraint failed"},
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
			if count(answers, 201) != 18 || answers[7].Status != 500 || !strings.Contains(answers[13].Body, rule.says) {
				t.Errorf("%d were created, and the bad ones were answered %v", count(answers, 201), answers[13])
			}
			expectStored(t, p, answers, before)
		})
	}
}
