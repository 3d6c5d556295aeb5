package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"users-api/tests/program"
)

// StartWriters starts n clients that create and delete users until the program no longer answers, or until the
// returned function is called, which waits for them.
func (l *Ledger) StartWriters(p *program.Program, n int, prefix string) (stop func()) {
	var wait sync.WaitGroup
	stopped := make(chan struct{})
	for i := range n {
		wait.Go(func() { l.write(p, fmt.Sprintf("%s-%d", prefix, i), stopped) })
	}
	return func() { close(stopped); wait.Wait() }
}

// write writes as one client.
func (l *Ledger) write(p *program.Program, client string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if _, err := l.Write(p, client, i); err != nil {
			return // the program has ended
		}
	}
}

// Write creates a user, and changes one if i is a multiple of three, and deletes the new one if it is a multiple of five. It
// returns the id; 0 when the program refused the creation.
func (l *Ledger) Write(p *program.Program, client string, i int) (id int64, err error) {
	id, err = l.Create(p, fmt.Sprintf("%s-%d", client, i))
	if err == nil && id != 0 && i%3 == 0 {
		err = l.change(p)
	}
	if err == nil && id != 0 && i%5 == 0 {
		err = l.delete(p, id)
	}
	return id, err
}

// Create creates a user and returns its id; 0 when the program refused it.
func (l *Ledger) Create(p *program.Program, email string) (id int64, err error) {
	answer, err := p.Send("POST", "/api/users", program.Body("v0", email))
	if err != nil {
		return 0, err
	}
	if answer.Status != 201 {
		l.refuse(answer, email)
		return 0, nil
	}
	if _, err := fmt.Sscanf(answer.Body, `{"id":%d`, &id); err != nil {
		return 0, err
	}
	l.Created(id, email)
	return id, nil
}

// change gives one user its next version. The user may be deleted meanwhile.
func (l *Ledger) change(p *program.Program) error {
	id, version, found := l.claimChange()
	if !found {
		return nil
	}
	answer, err := p.Send("PATCH", "/api/users/"+strconv.FormatInt(id, 10), fmt.Sprintf(`{"name":"v%d"}`, version))
	if err != nil {
		return err
	}
	l.note(id, func(f *Fate) {
		f.changing = false
		if answer.Status == 200 {
			f.version = max(f.version, version)
		}
	})
	if answer.Status >= 500 && l.Faults {
		l.refuse(answer, change(id, fmt.Sprint("v", version)))
		return nil
	}
	if answer.Status != 200 && !(answer.Status == 404 && l.now(id).leaving) {
		return fmt.Errorf("changing %d is answered %d %s", id, answer.Status, answer.Body)
	}
	return nil
}

// delete deletes a user.
func (l *Ledger) delete(p *program.Program, id int64) error {
	l.note(id, func(f *Fate) { f.leaving = true })
	answer, err := p.Send("DELETE", "/api/users/"+strconv.FormatInt(id, 10), "")
	switch {
	case err != nil:
		return err
	case answer.Status == 204:
		l.note(id, func(f *Fate) { f.gone = true })
	case !strings.Contains(answer.Body, "not known"):
		l.note(id, func(f *Fate) { f.leaving = false }) // it was refused: the user stays
	}
	return nil
}
