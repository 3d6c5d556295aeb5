package tests

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// A ledger is what clients were told about users. Every test that writes from many clients keeps one, and compares
// what it reads with it: what was answered must be there, and what was deleted must not.
//
// The name of each user is a version, v0 at first, which only grows: what is read must not be older than what was
// answered or shown before.
type ledger struct {
	mu    sync.Mutex
	users map[int64]fate
}

// A fate is what is known for certain of one user.
type fate struct {
	email    string
	version  int  // the newest that was answered or shown
	sent     int  // the newest that was sent
	answered bool // its creation was answered, and nobody else has plans for it
	changing bool // a change was sent
	leaving  bool // a deletion was sent
	gone     bool // and answered
}

func newLedger() *ledger { return &ledger{users: map[int64]fate{}} }

// created notes that a creation was answered.
func (l *ledger) created(id int64, email string) {
	l.note(id, func(f *fate) { f.email, f.answered = email, true })
}

// seen notes that a user was shown.
func (l *ledger) seen(id int64, email string, version int) {
	l.note(id, func(f *fate) { f.email, f.version = email, max(f.version, version) })
}

// changed notes how a change ended.
func (l *ledger) changed(id int64, version int, done bool) {
	l.note(id, func(f *fate) {
		f.changing = false
		if done {
			f.version = max(f.version, version)
		}
	})
}

// deleting notes that a deletion is about to be sent.
func (l *ledger) deleting(id int64) { l.note(id, func(f *fate) { f.leaving = true }) }

// deleted notes that a deletion was answered 204.
func (l *ledger) deleted(id int64) { l.note(id, func(f *fate) { f.leaving, f.gone = true, true }) }

func (l *ledger) note(id int64, what func(*fate)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.users[id]
	what(&f)
	l.users[id] = f
}

// claimDeletion picks a user that nobody else is deleting, and notes that its deletion is about to be sent.
func (l *ledger) claimDeletion() (id int64, found bool) {
	return l.claim(func(f *fate) { f.leaving = true })
}

// claimChange picks a user that nobody else is changing or deleting, and notes that its next version is about to be
// sent.
func (l *ledger) claimChange() (id int64, version int, found bool) {
	id, found = l.claim(func(f *fate) {
		f.changing = true
		f.sent++
		version = f.sent
	})
	return id, version, found
}

// twice begins the emails that are created twice. Nobody claims their users: without the first the second would be stored.
const twice = "twice-"

func (l *ledger) claim(what func(*fate)) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, f := range l.users {
		if f.answered && !f.changing && !f.leaving && !strings.HasPrefix(f.email, twice) {
			what(&f)
			l.users[id] = f
			return id, true
		}
	}
	return 0, false
}

// snapshot returns what is known now. What is read afterwards must agree with it.
func (l *ledger) snapshot() map[int64]fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.users)
}

func (l *ledger) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.users)
}

// check compares users in ascending order with what was known before they were asked for. All that were known must be
// there.
func (l *ledger) check(users []program.User, before map[int64]fate) error {
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
		if !listed[id] {
			if err := l.checkMissing(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkUser compares a user that was shown with what was known before, and notes it.
func (l *ledger) checkUser(user program.User, known fate) error {
	version := 0
	_, _ = fmt.Sscanf(user.Name, "v%d", &version)
	switch sent := l.snapshot()[user.ID].sent; {
	case known.gone:
		return fmt.Errorf("%d is shown, although its deletion was answered before", user.ID)
	case known.email != "" && known.email != user.Email:
		return fmt.Errorf("%d is shown as %s and was created as %s", user.ID, user.Email, known.email)
	case version < known.version || version > sent:
		return fmt.Errorf("%d is shown in version %d; %d was known and %d sent", user.ID, version, known.version, sent)
	}
	l.seen(user.ID, user.Email, version)
	return nil
}

// checkMissing reports a user that was not shown, although it was known and nobody deletes it.
func (l *ledger) checkMissing(id int64) error {
	if !l.snapshot()[id].leaving {
		return fmt.Errorf("%d is not shown, although it was stored before", id)
	}
	return nil
}

// expectKept compares the program's list with the ledger.
func (l *ledger) expectKept(t *testing.T, p *program.Program) {
	t.Helper()
	before := l.snapshot()
	if err := l.check(p.List(t), before); err != nil {
		t.Error(err)
	}
}
