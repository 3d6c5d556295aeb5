//go:build strace

package strace

import (
	"fmt"
	"sync"
	"testing"

	"users-api/tests/program"
)

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
		c := &client{t: t, p: p, history: h, name: fmt.Sprint(name, i), long: long, ids: map[string]int64{}, now: users{}}
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
	for email, name := range names {
		c.now[email] = name
	}
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
	_, ok := c.send("PATCH", c.path(email), `{"name":"`+name+`"}`, 200, users{email: name})
	return ok
}

func (c *client) delete(email string) bool {
	_, ok := c.send("DELETE", c.path(email), "", 204, users{email: ""})
	delete(c.now, email)
	return ok
}

func (c *client) path(email string) string { return fmt.Sprint("/api/users/", c.ids[email]) }

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
	file := "name,email\n"
	for i := range 5 {
		file += fmt.Sprintf("refused,%s-refused-%d-%d@example.org\n", c.name, round, i)
	}
	_, ok := c.send("POST", "/api/users.csv", file+",nobody\n", 422, nil)
	return ok
}

// list notes what the program shows.
func (c *client) list() bool {
	c.asked++
	id := fmt.Sprintf("%s.%d", c.name, c.asked)
	answer, err := c.p.Send("GET", "/api/users", "", "X-Request-Id: "+id)
	if err != nil {
		return false
	}
	c.history.received(id)
	next := list{id, users{}}
	for _, user := range answer.Users(c.t) {
		next.users[user.Email] = user.Name
	}
	c.history.shown(next)
	return true
}
