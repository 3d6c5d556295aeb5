package linearizability

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"users-api/tests/program"
)

// sameName is a name that many requests give, so that a user can be again what it was before.
const sameName = "same"

// A Client asks for one thing after the other, at random, and uses what it was answered: ids, ETags, and emails that
// are taken.
type Client struct {
	recorder *Recorder
	number   int
	random   *rand.Rand
	reads    int // of a hundred requests
	sent     int

	next *Request // what it has decided to ask

	users map[int64]program.User // who were shown to it, by id
	tags  map[int64]Match        // the ETags of users
}

// Client returns a client. The same number and seed ask for the same, as far as the same is answered. A part of its
// requests, in hundredths, reads.
func (r *Recorder) Client(number int, seed uint64, reads int) *Client {
	c := &Client{
		recorder: r, number: number, random: rand.New(rand.NewPCG(seed, uint64(number))), reads: reads,
		users: map[int64]program.User{}, tags: map[int64]Match{},
	}
	for _, user := range r.before.users {
		if user.Email != "" {
			c.users[user.ID] = user
		}
	}
	return c
}

// Ask sends one request to a program. After one that shows nothing it waits for a moment.
func (c *Client) Ask(p *program.Program) {
	c.sent++
	request := c.choose()
	if c.next != nil {
		request, c.next = *c.next, nil
	}
	answer, tag := c.recorder.Ask(c.number, p, request)
	if answer.Code == nothing {
		time.Sleep(10 * time.Millisecond) // a program that is down would be asked thousands of times
	}
	c.learn(request, answer, tag)
}

func (c *Client) learn(q Request, a Answer, tag string) {
	for _, user := range a.Users {
		if q.Action != Create { // its answer does not have the time
			c.users[user.ID] = user
		}
	}
	switch {
	case a.Code == notFound, q.Action == Remove && a.Code == "":
		delete(c.users, q.ID)
		delete(c.tags, q.ID)
	case a.Code == "" && tag != "" && q.hasUsersTag(a):
		c.tags[a.Users[0].ID] = Match{tag, a.Users[0]}
		c.follow(q, a.Users[0])
	}
}

// follow makes every second client that has read a user change it or remove it at once, unless it was changed
// meanwhile. Several do that with one user at a time.
func (c *Client) follow(read Request, user program.User) {
	if read.writes() || c.chance(50) {
		return
	}
	next := Request{Action: Change, ID: user.ID, Name: c.name(), Match: c.tags[user.ID]}
	if c.chance(20) {
		next.Action, next.Name = Remove, ""
	}
	c.next = &next
}

func (c *Client) choose() Request {
	if c.random.IntN(100) < c.reads {
		return c.read()
	}
	switch choice := c.random.IntN(100); {
	case choice < 40 || len(c.users) == 0:
		return Request{Action: Create, Name: c.name(), Email: c.email()}
	case choice < 75:
		return c.change()
	case choice < 92:
		return c.matching(Request{Action: Remove, ID: c.id()})
	}
	return c.load()
}

func (c *Client) read() Request {
	switch choice := c.random.IntN(100); {
	case choice < 25:
		return Request{Action: List}
	case choice < 60:
		return Request{Action: List, Limit: []int{1, 3, 4, 7}[c.random.IntN(4)]}
	case choice < 75 && len(c.users) > 0:
		return Request{Action: Get, ID: c.id()}
	}
	return Request{Action: List, Email: c.email()}
}

func (c *Client) change() Request {
	q := Request{Action: Change, ID: c.id(), Name: c.name()}
	if c.chance(50) {
		q.Email = c.email()
	}
	return c.matching(q)
}

// matching adds a condition to most requests.
func (c *Client) matching(q Request) Request {
	switch {
	case c.chance(10):
		q.Match.Tag = "*"
	case c.chance(70):
		q.Match = c.tags[q.ID]
	}
	return q
}

// load imports some rows. On PostgreSQL other writes go on beside an import: what a file skips could be deleted before the import
// commits, which has no one moment.
func (c *Client) load() Request {
	q := Request{Action: Import, OnConflict: []string{"fail", "update", "skip"}[c.random.IntN(3)]}
	if program.PostgreSQL && q.OnConflict == "skip" {
		q.OnConflict = "update"
	}
	for _, at := range c.random.Perm(len(emails))[:1+c.random.IntN(4)] {
		q.Rows = append(q.Rows, program.User{Name: c.unique(), Email: emails[at]})
	}
	return q
}

func (c *Client) chance(percent int) bool { return c.random.IntN(100) < percent }

// email is any of the emails, and often the first.
func (c *Client) email() string { return emails[max(0, c.random.IntN(len(emails)+2)-2)] }

// name is a name that no other request gives, or one that many give.
func (c *Client) name() string {
	if c.chance(10) {
		return sameName
	}
	return c.unique()
}

func (c *Client) unique() string {
	return fmt.Sprintf("%d-%d-%d", c.number, c.sent, c.random.IntN(1000))
}

// id returns the id of a user that was shown, or 1.
func (c *Client) id() int64 {
	ids := slices.Sorted(maps.Keys(c.users))
	if len(ids) == 0 {
		return 1
	}
	ids = ids[max(0, len(ids)-2*len(emails)):]
	return ids[c.random.IntN(len(ids))]
}
