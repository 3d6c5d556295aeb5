// Package followers has clients that keep a copy of the users by the feed of changes. They fail when a change comes twice, and
// when their copy is not the list in the end.
package followers

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// saved is what a client keeps where a kill does not reach it: its copy of the users, and where it is in the feed.
type saved struct {
	cursor string
	users  map[int64]program.User
	seen   map[string]bool // the cursors of the changes that it has
}

func (s saved) clone() saved { return saved{s.cursor, maps.Clone(s.users), maps.Clone(s.seen)} }

// response is a response of the feed.
type response struct {
	Changes []change
	Next    string
}

type change struct {
	Cursor, Op, At string
	ID             int64
	User           *program.User
}

// A Follower is a client that keeps a copy.
type Follower struct {
	Name  string
	Next  func(*Follower) error   // reads the feed: Poll or Watch
	Any   func() *program.Program // a service, which may be killed at any time
	Reads int                     // how many responses it has read, and exports it has made

	Patient bool // tries again while services answer 500, because their server is away
	Renews  bool // exports again when the feed does not go on from its cursor
	Renewed int  // how often it had to

	now  saved
	kept saved
}

// get asks a service. An error means that the next attempt follows.
func (f *Follower) get(path string) (program.Answer, error) {
	answer, err := f.Any().Send("GET", path, "")
	switch {
	case err != nil: // the service was killed
	case f.Patient && answer.Status >= 500:
		err = errors.New(answer.Body)
	case f.Renews && answer.Status == http.StatusGone:
		f.now.cursor = ""
		f.Renewed++
		err = errors.New(answer.Body)
	}
	return answer, err
}

// export begins again with all users.
func (f *Follower) export() error {
	answer, err := f.get(program.NDJSON)
	if err != nil {
		return nil
	}
	f.now = saved{answer.Header.Get("Changes-Cursor"), map[int64]program.User{}, map[string]bool{}}
	for line := range strings.Lines(answer.Body) {
		var user program.User
		if err := json.Unmarshal([]byte(line), &user); err != nil {
			return fmt.Errorf("%s: the export has the line %q: %w", f.Name, line, err)
		}
		f.now.users[user.ID] = user
	}
	if answer.Status != http.StatusOK || f.now.cursor == "" {
		return fmt.Errorf("%s: an export is answered %d with the cursor %q", f.Name, answer.Status, f.now.cursor)
	}
	f.Reads++
	f.kept = f.now.clone()
	return nil
}

// Step reads the feed once, and waits for changes for as many seconds.
func (f *Follower) Step(wait int) error {
	if f.now.cursor == "" {
		return f.export()
	}
	limit := []int{1, 7, 100, 1000}[rand.IntN(4)]
	answer, err := f.get(fmt.Sprintf("/api/changes?after=%s&limit=%d&wait=%d", f.now.cursor, limit, wait))
	if err != nil {
		return nil
	}
	var read response
	if err := json.Unmarshal([]byte(answer.Body), &read); err != nil || answer.Status != http.StatusOK {
		return fmt.Errorf("%s: after %s the feed is answered %d %.300s", f.Name, f.now.cursor, answer.Status, answer.Body)
	}
	if len(read.Changes) > limit {
		return fmt.Errorf("%s: %d changes came, and not %d at most", f.Name, len(read.Changes), limit)
	}
	f.Reads++
	if err := f.apply(read); err != nil {
		return err
	}
	return nil
}

// Poll waits for changes.
func (f *Follower) Poll() error { return f.Step(1) }

// live reads the feed once. Now and then it saves what it has, or is killed and goes on with what it had saved.
func (f *Follower) live() error {
	err := f.Next(f)
	switch rand.IntN(10) {
	case 0:
		f.now = f.kept.clone()
	case 1, 2:
		f.kept = f.now.clone()
	}
	return err
}

func (f *Follower) apply(read response) error {
	f.now.cursor = read.Next
	for _, change := range read.Changes {
		if f.now.seen[change.Cursor] {
			return fmt.Errorf("%s: %s came twice", f.Name, change.Cursor)
		}
		f.now.seen[change.Cursor] = true
		switch {
		case change.Op == "many":
			return f.export()
		case change.User == nil:
			delete(f.now.users, change.ID)
		case change.User.ID != change.ID:
			return fmt.Errorf("%s: a change of %d has the user %d", f.Name, change.ID, change.User.ID)
		default:
			f.now.users[change.ID] = *change.User
		}
	}
	return nil
}

// HasBegun reports whether it has a cursor.
func (f *Follower) HasBegun() bool { return f.now.cursor != "" }

// Settle follows the feed until the copy is the list, and fails when nothing comes any more before that. On PostgreSQL the feed
// may come later than the list.
func (f *Follower) Settle(t *testing.T, p *program.Program) {
	t.Helper()
	list := p.List(t)
	deadline := time.Now().Add(program.Patience)
	for difference := "?"; difference != ""; {
		before := f.now.cursor
		program.Must(t, f.Step(0))
		if difference = f.difference(list); difference != "" && f.now.cursor == before &&
			(!program.PostgreSQL && !f.Patient || time.Now().After(deadline)) {
			t.Fatal(difference)
		}
	}
}

// difference says how the copy differs from a list, or is empty.
func (f *Follower) difference(list []program.User) string {
	for _, user := range list {
		if has, found := f.now.users[user.ID]; !found || has != user {
			return fmt.Sprintf("%s has %v (%t) and the list has %v", f.Name, has, found, user)
		}
	}
	if len(f.now.users) != len(list) {
		return fmt.Sprintf("%s has %d users, and the list has %d", f.Name, len(f.now.users), len(list))
	}
	return ""
}
