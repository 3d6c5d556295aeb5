// Package ledger keeps what clients were told about users while many of them write, and compares what a program shows
// with it.
package ledger

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"users-api/tests/program"
)

// A Ledger is what clients were told about users. Every test that writes from many clients keeps one, and compares
// what it reads with it: what was answered must be there, and what was deleted must not.
//
// The name of each user is a version, v0 at first, which only grows: what is read must not be older than what was
// answered or shown before.
type Ledger struct {
	Faults bool // servers fail, so that a write may be answered 500

	mu      sync.Mutex
	users   map[int64]Fate
	refused map[string]string // what writes that were refused would have stored, and how they were answered
}

// A Fate is what is known for certain of one user.
type Fate struct {
	email    string
	version  int  // the newest that was answered or shown
	sent     int  // the newest that was sent
	answered bool // its creation was answered
	changing bool // a change was sent
	leaving  bool // a deletion was sent
	gone     bool // and answered
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{users: map[int64]Fate{}, refused: map[string]string{}} }

// Created notes that a creation was answered.
func (l *Ledger) Created(id int64, email string) {
	l.note(id, func(f *Fate) { f.email, f.answered = email, true })
}

// seen notes that a user was shown.
func (l *Ledger) seen(id int64, email string, version int) {
	l.note(id, func(f *Fate) { f.email, f.version = email, max(f.version, version) })
}

func (l *Ledger) note(id int64, what func(*Fate)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.users[id]
	what(&f)
	l.users[id] = f
}

// claimChange picks a user that no other client is changing or deleting, and notes that its next version is about to be
// sent.
func (l *Ledger) claimChange() (id int64, version int, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, f := range l.users {
		if f.answered && !f.changing && !f.leaving {
			f.changing = true
			f.sent++
			l.users[id] = f
			return id, f.sent, true
		}
	}
	return 0, 0, false
}

// Snapshot returns what is known now. What is read afterwards must agree with it.
func (l *Ledger) Snapshot() map[int64]Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.users)
}

// now returns what is known of one user now.
func (l *Ledger) now(id int64) Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users[id]
}

// Size returns how many users were created.
func (l *Ledger) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.users)
}

// Check compares users in ascending order with what was known before they were asked for. All that were known must be
// there.
func (l *Ledger) Check(users []program.User, before map[int64]Fate) error {
	listed := map[int64]bool{}
	previous := int64(0)
	for _, user := range users {
		if user.ID <= previous {
			return fmt.Errorf("%d is listed after %d", user.ID, previous)
		}
		if err := l.checkUser(user, before[user.ID]); err != nil {
			return err
		}
		previous = user.ID
		listed[user.ID] = true
	}
	for id := range before {
		if !listed[id] && !l.now(id).leaving {
			return fmt.Errorf("%d is not shown, although it was stored before", id)
		}
	}
	return nil
}

// checkUser compares a user that was shown with what was known before, and notes it.
func (l *Ledger) checkUser(user program.User, known Fate) error {
	version := 0
	_, _ = fmt.Sscanf(user.Name, "v%d", &version)
	switch sent := l.now(user.ID).sent; {
	case known.gone:
		return fmt.Errorf("%d is shown, although its deletion was answered before", user.ID)
	case known.email != "" && known.email != user.Email:
		return fmt.Errorf("%d is shown as %s and was created as %s", user.ID, user.Email, known.email)
	case version < known.version || version > sent:
		return fmt.Errorf("%d is shown in version %d; %d was known and %d sent", user.ID, version, known.version, sent)
	}
	l.seen(user.ID, user.Email, version)
	return l.checkRefused(user)
}

// ExpectKept compares the program's list with the ledger.
func (l *Ledger) ExpectKept(t *testing.T, p *program.Program) {
	t.Helper()
	before := l.Snapshot()
	if err := l.Check(p.List(t), before); err != nil {
		t.Error(err)
	}
}
