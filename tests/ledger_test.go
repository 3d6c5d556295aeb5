package tests

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"

	"users-api/tests/program"
)

// A ledger is what clients were told about users. Every test that writes from many clients keeps one, and compares
// lists with it: what was answered must be there, and what was deleted must not.
type ledger struct {
	mu    sync.Mutex
	users map[int64]fate
}

// A fate is what is known for certain of one user.
type fate struct {
	email    string
	answered bool // its creation was answered, and nobody else has plans for it
	leaving  bool // a deletion was sent
	gone     bool // and answered
}

func newLedger() *ledger { return &ledger{users: map[int64]fate{}} }

// created notes that a creation was answered.
func (l *ledger) created(id int64, email string) {
	l.note(id, func(f *fate) { f.email, f.answered = email, true })
}

// seen notes that a list has shown a user.
func (l *ledger) seen(id int64, email string) { l.note(id, func(f *fate) { f.email = email }) }

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

// claim picks a user that nobody else is deleting and notes that its deletion is about to be sent.
func (l *ledger) claim() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, f := range l.users {
		if f.answered && !f.leaving {
			f.leaving = true
			l.users[id] = f
			return id, true
		}
	}
	return 0, false
}

// snapshot returns what is known now. A list that is asked for afterwards must agree with it.
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

// check compares a list with what was known before it was asked for.
func (l *ledger) check(users []program.User, before map[int64]fate) error {
	listed := map[int64]bool{}
	previous := int64(0)
	for _, user := range users {
		known := before[user.ID]
		switch {
		case user.ID <= previous:
			return fmt.Errorf("%d is listed after %d", user.ID, previous)
		case known.gone:
			return fmt.Errorf("%d is listed, although its deletion was answered before", user.ID)
		case known.email != "" && known.email != user.Email:
			return fmt.Errorf("%d is listed as %s and was created as %s", user.ID, user.Email, known.email)
		}
		previous = user.ID
		listed[user.ID] = true
		l.seen(user.ID, user.Email)
	}
	now := l.snapshot()
	for id := range before {
		if !listed[id] && !now[id].leaving {
			return fmt.Errorf("%d is not listed, although it was stored before", id)
		}
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

// startWriters starts n clients that create and delete users until the program no longer answers, or until the
// returned function is called, which waits for them.
func (l *ledger) startWriters(p *program.Program, n int, prefix string) (stop func()) {
	var wait sync.WaitGroup
	stopped := make(chan struct{})
	for i := range n {
		wait.Go(func() { l.write(p, fmt.Sprintf("%s-%d", prefix, i), stopped) })
	}
	return func() { close(stopped); wait.Wait() }
}

// write creates users and deletes every fifth of them.
func (l *ledger) write(p *program.Program, client string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		id, err := l.create(p, fmt.Sprintf("%s-%d", client, i))
		if err == nil && id != 0 && i%5 == 0 {
			err = l.delete(p, id)
		}
		if err != nil {
			return // the program has ended
		}
	}
}

// create creates a user and returns its id; 0 when the program refused it.
func (l *ledger) create(p *program.Program, email string) (id int64, err error) {
	answer, err := p.Send("POST", "/api/users", program.Body("n", email))
	if err != nil || answer.Status != 201 {
		return 0, err
	}
	if _, err := fmt.Sscanf(answer.Body, `{"id":%d`, &id); err != nil {
		return 0, err
	}
	l.created(id, email)
	return id, nil
}

func (l *ledger) delete(p *program.Program, id int64) error {
	l.deleting(id)
	answer, err := p.Send("DELETE", "/api/users/"+strconv.FormatInt(id, 10), "")
	if err == nil && answer.Status == 204 {
		l.deleted(id)
	}
	return err
}
