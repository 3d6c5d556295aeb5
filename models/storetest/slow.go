package storetest

import (
	"fmt"

	"pgregory.net/rapid"

	"users-api/models"
)

// held is a list that a slow reader has, and what it was when the reader got it.
type held struct {
	text    string
	release chan struct{}
	ended   chan error
}

// hold gets the list and keeps it, as a slow reader does.
func (m *Machine) hold(r *rapid.T) {
	h := &held{text: m.list(), release: make(chan struct{}), ended: make(chan error, 1)}
	got := make(chan struct{})
	go func() {
		h.ended <- m.Users.List(ctx, func(list models.List) error {
			close(got)
			if list.Version == "" {
				return nil // it is read while it is sent, and may show what has changed
			}
			<-h.release
			text, err := join(list)
			if err == nil && text != h.text {
				err = fmt.Errorf("a list that was held became\n%.2000s\nand was\n%.2000s", text, h.text)
			}
			return err
		})
	}()
	<-got
	m.held = append(m.held, h)
}

// letGo lets the slow reader read on that has waited longest.
func (m *Machine) letGo(r *rapid.T) {
	if len(m.held) == 0 {
		r.Skip("no list is held")
	}
	close(m.held[0].release)
	if err := <-m.held[0].ended; err != nil {
		r.Fatal(err)
	}
	m.held = m.held[1:]
}
