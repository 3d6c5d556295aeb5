//go:build strace

package strace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"

	"users-api/database"
	"users-api/database/dbfile"
	"users-api/models"
	"users-api/tests/program"
)

// A history is what clients asked of the service, and was answered. Unlike a ledger, it tells what was known at any
// moment of a trace: each answer has an id, which the trace has too.
type history struct {
	mu    sync.Mutex
	steps map[string][]step // by email, in the order in which its only client asked for them
	lists []list
	got   []string // the X-Request-Ids of all answers that came
}

// A step is one write to a user.
type step struct {
	answer string // its X-Request-Id
	name   string // which the user has after it; "" if the user is gone
}

// A list is what a client was shown.
type list struct {
	answer string
	users  users
}

// users are names by email.
type users map[string]string

func newHistory() *history { return &history{steps: map[string][]step{}} }

// asks notes writes before they are sent, all with one answer. What will be refused is not noted: it must never be there.
func (h *history) asks(answer string, names users) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for email, name := range names {
		h.steps[email] = append(h.steps[email], step{answer: answer, name: name})
	}
}

// received notes that an answer came, and the list that it showed.
func (h *history) received(answer string, lists ...list) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, answer)
	h.lists = append(h.lists, lists...)
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

// answered reports whether an answer had begun to be sent by a moment.
func (k knowledge) answered(answer string, by int) bool {
	at, known := k.answers[answer]
	return known && at <= by
}

// newest returns how many steps of a user were certain at a moment.
func (k knowledge) newest(steps []step, by int) (n int) {
	for n < len(steps) && k.answered(steps[n].answer, by) {
		n++
	}
	return n
}

// shownTo returns how many steps of each user clients had been shown.
func (k knowledge) shownTo() map[string]int {
	least := map[string]int{}
	for _, list := range k.lists {
		if !k.answered(list.answer, k.since) {
			continue
		}
		for email, name := range list.users {
			for n, step := range k.steps[email] {
				if step.name == name {
					least[email] = max(least[email], n+1)
				}
			}
		}
	}
	return least
}

// check compares users with what is known of them.
func (k knowledge) check(found users) error {
	rest := maps.Clone(found)
	files := map[string]bool{} // of the writes with one answer that may be there, whether they are
	least := k.shownTo()
	for email, steps := range k.steps {
		delete(rest, email)
		from, to := max(k.newest(steps, k.since), least[email]), min(k.newest(steps, k.until)+1, len(steps))
		have := -1
		for n := from; n <= max(from, to); n++ {
			if found[email] == nameAfter(steps, n) {
				have = n
			}
		}
		if have < 0 {
			return fmt.Errorf("%s is %.20q, and should be %.20q or %d steps newer",
				email, found[email], nameAfter(steps, from), to-from)
		}
		if to > from && k.since == k.until {
			answer := steps[to-1].answer
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
	long    string // makes names long
	asked   int
	ids     map[string]int64 // by email
	now     users
}

// startClients starts n clients with some rounds each, and returns a function that waits for them.
func startClients(t testing.TB, p *program.Program, h *history, name string, n, rounds int, long string) (wait func()) {
	var running sync.WaitGroup
	for i := range n {
		c := &client{t, p, h, fmt.Sprint(name, i), long, 0, map[string]int64{}, users{}}
		running.Go(func() {
			for round := 0; round < rounds && c.round(round); round++ {
			}
		})
	}
	return running.Wait
}

// round does a bit of everything, and reports whether the program still answers. With long names it imports nothing: the
// -wal file is emptied after an import, and would never be long enough to be written back beside commits.
func (c *client) round(n int) bool {
	email := fmt.Sprintf("%s-%d@example.org", c.name, n)
	ok := c.create(email) && c.change(email, 1)
	switch {
	case !ok || n%5 == 4:
		return ok
	case n%5 == 0:
		return c.list()
	case n%5 == 1 || c.long != "":
		return c.change(email, 2) && c.delete(email)
	case n%5 == 2:
		return c.importUsers(n, 20)
	}
	return c.importRefused(n)
}

// send sends a request that writes and is answered with a status, and notes it.
func (c *client) send(method, path, body string, status int, names users) (program.Answer, bool) {
	c.asked++
	id := fmt.Sprintf("%s.%d", c.name, c.asked)
	c.history.asks(id, names)
	answer, err := c.p.Send(method, path, body, "X-Request-Id: "+id)
	if err != nil {
		return answer, false // the program was killed: the outcome is unknown
	}
	c.history.received(id)
	if answer.Status != status {
		c.t.Errorf("%s %s is answered %d %.300s", method, path, answer.Status, answer.Body)
		return answer, false
	}
	maps.Copy(c.now, names)
	return answer, true
}

func (c *client) create(email string) bool {
	answer, ok := c.send("POST", "/api/users", program.Body("v0"+c.long, email), 201, users{email: "v0" + c.long})
	if user, err := answer.ParseUser(); ok && err == nil {
		c.ids[email] = user.ID
	}
	return ok
}

func (c *client) change(email string, version int) bool {
	name := fmt.Sprint("v", version, c.long)
	_, ok := c.send("PATCH", fmt.Sprint("/api/users/", c.ids[email]), `{"name":"`+name+`"}`, 200, users{email: name})
	return ok
}

func (c *client) delete(email string) bool {
	_, ok := c.send("DELETE", fmt.Sprint("/api/users/", c.ids[email]), "", 204, users{email: ""})
	delete(c.now, email)
	return ok
}

// importUsers creates n users with a file that changes all others that the client has.
func (c *client) importUsers(round, n int) bool {
	names, file := users{}, "name,email\n"
	for email := range c.now {
		names[email] = fmt.Sprint("imported in ", round)
	}
	for i := range n {
		names[fmt.Sprintf("%s-%d-%d@example.org", c.name, round, i)] = "new"
	}
	for email, name := range names {
		file += name + "," + email + "\n"
	}
	_, ok := c.send("POST", "/api/users.csv?on_conflict=update", file, 200, names)
	return ok
}

// importRefused sends a file whose last row is refused.
func (c *client) importRefused(round int) bool {
	file := fmt.Sprintf("name,email\nrefused,%s-refused-%d@example.org\n,nobody\n", c.name, round)
	_, ok := c.send("POST", "/api/users.csv", file, 422, nil)
	return ok
}

// list notes what the program shows.
func (c *client) list() bool {
	c.asked++
	id := fmt.Sprintf("%s.%d", c.name, c.asked)
	answer, err := c.p.Send("GET", "/api/users", "", "X-Request-Id: "+id)
	if err == nil {
		c.history.received(id, list{id, byEmail(answer.Users(c.t))})
	}
	return err == nil
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
	location := database.Location{Path: path, Fields: models.NewFields()[:2], Logger: slog.New(slog.DiscardHandler)}
	open, err := location.Open(context.Background(), 1<<20)
	if err != nil {
		return err
	}
	defer open.Close(context.Background()) //nolint:errcheck // the file is removed
	if result, err := ask(path, "PRAGMA integrity_check"); err != nil || result != "ok" {
		return errors.Join(err, fmt.Errorf("integrity_check says %q", result))
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
