package program

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Writers are clients that create users at the same time, and know how each creation was answered.
type Writers struct {
	mu      sync.Mutex
	stored  map[string]int64  // the ids that were answered, by email
	refused map[string]string // answers that are certain that nothing was stored, by email
	last    time.Time         // when a creation was answered
	pause   time.Duration     // the longest time between two such answers

	ended atomic.Bool
	wait  sync.WaitGroup
}

// StartWriters starts n clients of each program. Each creates one user after the other, until Stop.
func StartWriters(n int, programs ...*Program) *Writers {
	w, own := &Writers{stored: map[string]int64{}, refused: map[string]string{}, last: time.Now()}, rand.Text()
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
	switch {
	case err == nil && failed == nil:
		w.stored[email] = user.ID
		w.pause, w.last = max(w.pause, time.Since(w.last)), time.Now()
	case err == nil && !strings.Contains(answer.Body, "not known"):
		w.refused[email] = answer.Body
	}
	return err == nil && failed == nil
}

// Stored returns the ids of the users whose creations were answered so far, by email.
func (w *Writers) Stored() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.stored)
}

// Pause returns the longest time between two creations that were answered since it was last asked.
func (w *Writers) Pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := max(w.pause, time.Since(w.last))
	w.pause, w.last = 0, time.Now()
	return longest
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

// Expect fails the test unless these users were all stored by the time that they were read. Others may be among them,
// but nobody whose creation was refused.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	for email, answer := range w.refused {
		if id, found := shown[email]; found {
			t.Fatalf("%s is shown with the id %d, and was refused: %s", email, id, answer)
		}
	}
}

// StopAndExpect fails the test unless some users were stored, and programs list them all.
func (w *Writers) StopAndExpect(t *testing.T, programs ...*Program) {
	t.Helper()
	w.Stop()
	if len(w.Stored()) == 0 {
		t.Errorf("no client was answered that a user is stored; %d were refused", len(w.refused))
	}
	for _, p := range programs {
		w.Expect(t, p.List(t), w.Stored())
	}
}
