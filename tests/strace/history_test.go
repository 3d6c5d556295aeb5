//go:build strace

package strace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"users-api/database"
	"users-api/database/dbfile"
	"users-api/models"
	"users-api/tests/program"
)

// A history is what clients asked of the service, and was answered. It tells what was known at any moment of a trace: each
// answer has an id, which the trace has too.
type history struct {
	mu    sync.Mutex
	steps map[string][]step // by email, in the order in which its only client asked for them
	got   []string          // the X-Request-Ids of all answers that came
}

// A step is one write to a user.
type step struct {
	answers []string // the X-Request-Ids of its answer, and of lists that showed it
	name    string   // which the user has after it; "" if the user is gone
}

// users are names by email.
type users map[string]string

func newHistory() *history { return &history{steps: map[string][]step{}} }

// asks notes writes before they are sent, all with one answer.
func (h *history) asks(answer string, names users) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for email, name := range names {
		h.steps[email] = append(h.steps[email], step{answers: []string{answer}, name: name})
	}
}

// received notes that an answer came, and the users that it listed.
func (h *history) received(answer string, listed users) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, answer)
	for email, name := range listed {
		for n, step := range slices.Backward(h.steps[email]) {
			if step.name == name {
				h.steps[email][n].answers = append(step.answers, answer)
				break
			}
		}
	}
}

func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.steps)
}

// A knowledge is what had been answered at two moments of a trace: what is there must be at least as new as the first,
// and at most one step of each client newer than the second.
type knowledge struct {
	*history
	answers      map[string]int // the event at which each began to be sent
	since, until int
}

// newest returns how many steps of a user were certain at a moment: an answer had begun to be sent that says so.
func (k knowledge) newest(steps []step, by int) int {
	for n, step := range slices.Backward(steps) {
		if slices.ContainsFunc(step.answers, func(answer string) bool {
			at, known := k.answers[answer]
			return known && at <= by
		}) {
			return n + 1
		}
	}
	return 0
}

// check compares users with what is known of them.
func (k knowledge) check(found users) error {
	rest := maps.Clone(found)
	files := map[string]bool{} // of the writes with one answer that may be there, whether they are
	for email, steps := range k.steps {
		delete(rest, email)
		from, to := k.newest(steps, k.since), min(k.newest(steps, k.until)+1, len(steps))
		have := -1
		for n := from; n <= to; n++ {
			if found[email] == nameAfter(steps, n) {
				have = n
			}
		}
		if have < 0 {
			return fmt.Errorf("%s is %.20q, and should be %.20q or %d steps newer",
				email, found[email], nameAfter(steps, from), to-from)
		}
		if to > from && k.since == k.until {
			answer := steps[to-1].answers[0]
			if there, seen := files[answer]; seen && there != (have == to) {
				return fmt.Errorf("a part of what %s asked for is there", answer)
			}
			files[answer] = have == to
		}
	}
	for email := range rest {
		return fmt.Errorf("%s is there and was never sent", email)
	}
	return nil
}

func nameAfter(steps []step, n int) string {
	if n == 0 {
		return ""
	}
	return steps[n-1].name
}

// A client writes users of its own, one request after the other, until it is done or the program has ended.
type client struct {
	t       testing.TB
	p       *program.Program
	history *history
	name    string
	asked   int
	emails  []string
}

// startClients starts n clients with some rounds each, and returns a function that waits for them.
func startClients(t testing.TB, p *program.Program, h *history, name string, n, rounds int) (wait func()) {
	var running sync.WaitGroup
	for i := range n {
		c := &client{t: t, p: p, history: h, name: fmt.Sprint(name, i)}
		running.Go(func() {
			for round := 0; round < rounds && c.round(round); round++ {
			}
		})
	}
	return running.Wait
}

// round does a bit of everything, and reports whether the program still answers.
func (c *client) round(n int) bool {
	email := fmt.Sprintf("%s-%d@example.org", c.name, n)
	c.emails = append(c.emails, email)
	path := "/api/users/" + email
	isThere := c.send("POST", "/api/users", program.Body("v0", email), 201, users{email: "v0"}) &&
		c.send("PATCH", path, `{"name":"v1"}`, 200, users{email: "v1"})
	switch {
	case !isThere || n%4 == 3:
		return isThere
	case n%4 == 0:
		return c.list()
	case n%4 == 1:
		return c.send("DELETE", path, "", 204, users{email: ""})
	}
	return c.importUsers(n)
}

// importUsers creates users with a file that changes all others that the client has had, or creates them again.
func (c *client) importUsers(round int) bool {
	for i := range 20 {
		c.emails = append(c.emails, fmt.Sprintf("%s-%d-%d@example.org", c.name, round, i))
	}
	names, file := users{}, "name,email\n"
	for _, email := range c.emails {
		names[email] = fmt.Sprint("imported in ", round)
		file += names[email] + "," + email + "\n"
	}
	return c.send("POST", "/api/users.csv?on_conflict=update", file, 200, names)
}

func (c *client) list() bool { return c.send("GET", "/api/users", "", 200, nil) }

// send notes a request, and what its answer shows. It reports whether there is one: of a program that was killed, the outcome is
// unknown.
func (c *client) send(method, path, body string, status int, names users) bool {
	c.asked++
	id := fmt.Sprintf("%s.%d", c.name, c.asked)
	c.history.asks(id, names)
	answer, err := c.p.Send(method, path, body, "X-Request-Id: "+id)
	if err != nil {
		return false
	}
	var listed users
	if method == "GET" {
		listed = byEmail(answer.Users(c.t))
	}
	c.history.received(id, listed)
	answer.Expect(c.t, status, "…")
	return answer.Status == status
}

func byEmail(listed []program.User) users {
	found := users{}
	for _, user := range listed {
		found[user.Email] = user.Name
	}
	return found
}

// reopen opens a database as a service does that starts on it, and calls look.
func reopen(path string, look func(users) error) error {
	location := database.Location{Path: path, Fields: models.NewFields()[:2], KeepChanges: time.Hour, Logger: slog.New(slog.DiscardHandler)}
	open, err := location.Open(context.Background(), 1<<20)
	if err != nil {
		return err
	}
	defer open.Close(context.Background()) //nolint:errcheck // the file is removed
	for _, question := range []struct{ query, right string }{{"PRAGMA integrity_check", "ok"}, {differing, ""}} {
		if said, err := ask(path, question.query); err != nil || said != question.right {
			return errors.Join(err, fmt.Errorf("%.40s… says %q", question.query, said))
		}
	}
	found := users{}
	err = open.Query(context.Background(), models.Query{}, func(all database.Result) error {
		for user, err := range all.Users {
			if err != nil {
				return err
			}
			found[user.Email] = user.Name
		}
		return nil
	})
	if err != nil {
		return err
	}
	return look(found)
}

// differing selects the users who are there without an entry of their creation, or not there without one of their deletion.
const differing = `WITH created AS (SELECT user_id AS id FROM users_changes WHERE op = 'created' EXCEPT
		SELECT user_id FROM users_changes WHERE op = 'deleted'), stored AS (SELECT id FROM users)
	SELECT coalesce(group_concat(id), '') FROM (SELECT * FROM (SELECT id FROM created EXCEPT SELECT id FROM stored)
		UNION ALL SELECT * FROM (SELECT id FROM stored EXCEPT SELECT id FROM created))`

// ask returns the one value that a query of a database file has.
func ask(path, query string) (value string, err error) {
	db, err := dbfile.Open(path, dbfile.ReadWrite)
	if err != nil {
		return "", err
	}
	defer dbfile.Close(db)
	err = db.Raw(query).Row().Scan(&value)
	return value, err
}
