package program

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Writers are clients that create users at the same time, and know how each creation was answered.
type Writers struct {
	mu     sync.Mutex
	stored map[string]int64 // the ids that were answered, by email

	ended atomic.Bool
	wait  sync.WaitGroup
}

// StartWriters starts n clients of each program. Each creates one user after the other, until Stop.
func StartWriters(n int, programs ...*Program) *Writers {
	w, own := &Writers{stored: map[string]int64{}}, fmt.Sprint(rand.Uint64())
	for i, p := range programs {
		for client := range n {
			w.wait.Go(func() {
				for number := 0; !w.ended.Load(); number++ {
					if !w.create(p, fmt.Sprintf("%s-%d-%d-%d", own, i, client, number)) {
						time.Sleep(10 * time.Millisecond) // a program that is down would be asked thousands of times
					}
				}
			})
		}
	}
	return w
}

// create creates a user with an email that nobody else has, and reports whether that was answered.
func (w *Writers) create(p *Program, email string) bool {
	answer, err := p.Send(http.MethodPost, "/api/users", Body("n", email))
	user, failed := answer.ParseUser()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || failed != nil {
		return false
	}
	w.stored[email] = user.ID
	return true
}

// Stored returns the ids of the users whose creations were answered so far, by email.
func (w *Writers) Stored() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.stored)
}

// WaitFor returns once n more users are stored.
func (w *Writers) WaitFor(t *testing.T, n int) {
	t.Helper()
	n += len(w.Stored())
	WaitFor(t, fmt.Sprint(n, " users are created"), func() bool { return len(w.Stored()) >= n })
}

// Stop waits until every client has its last answer.
func (w *Writers) Stop() {
	w.ended.Store(true)
	w.wait.Wait()
}

// Expect fails the test unless these users were all stored by the time that they were read. Others may be among them.
func (w *Writers) Expect(t *testing.T, users []User, stored map[string]int64) {
	t.Helper()
	shown := map[string]int64{}
	for _, user := range users {
		shown[user.Email] = user.ID
	}
	for email, id := range stored {
		if shown[email] != id {
			t.Fatalf("%s was stored with the id %d, and is shown with %d (0: not at all)", email, id, shown[email])
		}
	}
}

// StopAndExpect fails the test unless some users were stored, and programs list them all.
func (w *Writers) StopAndExpect(t *testing.T, programs ...*Program) {
	t.Helper()
	w.Stop()
	if len(w.Stored()) == 0 {
		t.Error("no client was answered that a user is stored")
	}
	for _, p := range programs {
		w.Expect(t, p.List(t), w.Stored())
	}
}

// A Follower is a client that keeps a copy of the users: it begins with an export, and goes on with the feed of
// changes.
type Follower struct {
	Exports int // how often it began

	cursor string
	users  map[int64]User
	seen   map[string]bool // the cursors of the changes that came
}

// Clone is another client that has the same copy.
func (f *Follower) Clone() *Follower {
	return &Follower{f.Exports, f.cursor, maps.Clone(f.users), maps.Clone(f.seen)}
}

// Step reads the feed once, and waits for changes for as many seconds. A program that does not answer, or whose server
// is away, is asked again by the next step. An error is an answer that no client may get.
func (f *Follower) Step(p *Program, wait int) error {
	if f.cursor == "" {
		return f.export(p)
	}
	limit := []int{1, 7, 100, 1000}[rand.IntN(4)]
	path := fmt.Sprintf("/api/changes?after=%s&limit=%d&wait=%d", f.cursor, limit, wait)
	answer, err := p.Send(http.MethodGet, path, "")
	var feed struct {
		Changes []struct {
			Cursor, Op string
			ID         int64
			User       *User
		}
		Next string
	}
	switch {
	case err != nil || answer.Status >= http.StatusInternalServerError:
		return nil
	case answer.Status == http.StatusGone:
		return f.export(p)
	}
	err = json.Unmarshal([]byte(answer.Body), &feed)
	if err != nil || answer.Status != http.StatusOK || len(feed.Changes) > limit {
		return fmt.Errorf("%s is answered %d %.300s", path, answer.Status, answer.Body)
	}
	for _, change := range feed.Changes {
		switch {
		case f.seen[change.Cursor]:
			return fmt.Errorf("the change %s came twice", change.Cursor)
		case change.Op == "many":
			return f.export(p)
		case change.User == nil:
			delete(f.users, change.ID)
		case change.User.ID != change.ID:
			return fmt.Errorf("a change of %d has the user %d", change.ID, change.User.ID)
		default:
			f.users[change.ID] = *change.User
		}
		f.seen[change.Cursor] = true
	}
	f.cursor = feed.Next
	return nil
}

// export begins with all users.
func (f *Follower) export(p *Program) error {
	f.cursor = ""
	answer, err := p.Send(http.MethodGet, NDJSON, "")
	if err != nil || answer.Status >= http.StatusInternalServerError {
		return nil
	}
	f.Exports++
	f.cursor, f.users, f.seen = answer.Header.Get("Changes-Cursor"), map[int64]User{}, map[string]bool{}
	for line := range strings.Lines(answer.Body) {
		var user User
		if err := json.Unmarshal([]byte(line), &user); err != nil {
			return fmt.Errorf("an export has the line %q: %w", line, err)
		}
		f.users[user.ID] = user
	}
	if answer.Status != http.StatusOK || f.cursor == "" {
		return fmt.Errorf("an export is answered %d with the cursor %q", answer.Status, f.cursor)
	}
	return nil
}

// Settle follows the feed until the copy is the list. On PostgreSQL the feed may come later than the list.
func (f *Follower) Settle(t testing.TB, p *Program) {
	t.Helper()
	want := map[int64]User{}
	for _, user := range p.List(t) {
		want[user.ID] = user
	}
	deadline := time.Now().Add(Patience)
	for wait := 0; wait == 0 || !maps.Equal(f.users, want); wait = 1 {
		Must(t, f.Step(p, wait))
		if time.Now().After(deadline) {
			t.Fatalf("one who follows the feed has\n%.2000s\nand listed are\n%.2000s",
				fmt.Sprint(f.users), fmt.Sprint(want))
		}
	}
}
