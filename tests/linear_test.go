package tests

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/program"
)

// history is what is known for certain of each user while clients and another program write at once.
type history struct {
	mu      sync.Mutex
	stored  map[int64]bool // its creation was answered, or a list has shown it
	leaving map[int64]bool // its deletion was sent
	gone    map[int64]bool // its deletion was answered
}

func newHistory() *history {
	return &history{stored: map[int64]bool{}, leaving: map[int64]bool{}, gone: map[int64]bool{}}
}

func (h *history) mark(state map[int64]bool, id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	state[id] = true
}

// any returns a stored user that nobody is deleting, and says that somebody is from now on.
func (h *history) any() (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.stored {
		if !h.leaving[id] {
			h.leaving[id] = true
			return id, true
		}
	}
	return 0, false
}

// before returns what must be in a list that is asked for now, unless it is deleted meanwhile, and what must not.
func (h *history) before() (stored, gone map[int64]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.stored), maps.Clone(h.gone)
}

// check compares a list with what was known before it was asked for.
func (h *history) check(users []program.User, stored, gone map[int64]bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	listed := map[int64]bool{}
	previous := int64(0)
	for _, user := range users {
		if user.ID <= previous {
			return fmt.Errorf("%d is listed after %d", user.ID, previous)
		}
		if gone[user.ID] {
			return fmt.Errorf("%d is listed, and was deleted before the list was asked for", user.ID)
		}
		previous = user.ID
		listed[user.ID] = true
		h.stored[user.ID] = true
	}
	for id := range stored {
		if !listed[id] && !h.leaving[id] {
			return fmt.Errorf("%d is not listed, and was stored before the list was asked for", id)
		}
	}
	return nil
}

func TestEveryListShowsEveryCommitThatWasCompleteBeforeIt(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"kept": "LIST_MEMORY_MIB=32", "streamed": "LIST_MEMORY_MIB=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, setting)
			h := newHistory()
			var writers, readers sync.WaitGroup
			var done atomic.Bool
			for i := range 4 {
				writers.Go(func() { createMany(t, p, h, i, 100) })
			}
			for range 2 {
				writers.Go(func() { deleteMany(t, p, h, 40) })
			}
			writers.Go(func() { writeFromOutside(program.OpenOther(t, p.DatabasePath()), h, 40) })
			for range 4 {
				readers.Go(func() {
					for !done.Load() && listOnce(t, p, h) {
					}
				})
			}
			writers.Wait()
			done.Store(true)
			readers.Wait()
			listOnce(t, p, h)
		})
	}
}

// createMany creates users; every tenth is a duplicate, which must never be seen.
func createMany(t *testing.T, p *program.Program, h *history, client, n int) {
	for i := range n {
		answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprintf("%d-%d", client, i-i%10/9)))
		if err != nil || (answer.Status == 201) == (i%10 == 9) {
			t.Errorf("creation %d was answered %d %s, %v", i, answer.Status, answer.Body, err)
			return
		}
		if answer.Status == 201 {
			h.mark(h.stored, answer.User(t).ID)
		}
	}
}

func deleteMany(t *testing.T, p *program.Program, h *history, n int) {
	for range n {
		id, found := h.any()
		if !found {
			continue
		}
		answer, err := p.Send("DELETE", "/api/users/"+strconv.FormatInt(id, 10), "")
		if err != nil || answer.Status != 204 {
			t.Errorf("deleting %d was answered %d %s, %v", id, answer.Status, answer.Body, err)
			return
		}
		h.mark(h.gone, id)
	}
}

// writeFromOutside is another program: it creates two users and deletes one of them, again and again.
func writeFromOutside(other *program.Other, h *history, n int) {
	for i := range n {
		for _, email := range []string{"stays", "goes"} {
			id, _ := strconv.ParseInt(other.Ask(fmt.Sprintf("INSERT INTO users (name, email) VALUES ('o', '%s-%d') RETURNING id", email, i)), 10, 64)
			if email == "goes" {
				h.mark(h.leaving, id)
				other.Do(fmt.Sprintf("DELETE FROM users WHERE id = %d", id))
				h.mark(h.gone, id)
				continue
			}
			h.mark(h.stored, id)
		}
	}
}

func listOnce(t *testing.T, p *program.Program, h *history) bool {
	stored, gone := h.before()
	answer, err := p.Send("GET", "/api/users", "")
	if err == nil {
		err = h.check(answer.Users(t), stored, gone)
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
