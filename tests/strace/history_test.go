//go:build strace

package strace

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// A history is what clients asked of the service, and was answered. Unlike a ledger, it tells what was known at any
// moment of a trace: each answer has an id, which the trace has too.
type history struct {
	mu    sync.Mutex
	steps map[string][]step // by email, in the order in which its only client asked for them
	lists []list
	got   []string // the X-Request-Ids of all answers that came
}

// A step is one write to a user.
type step struct {
	answer string // its X-Request-Id
	name   string // which the user has after it; "" if the user is gone
}

// A list is what a client was shown.
type list struct {
	answer string
	users  users
}

// users are names by email.
type users map[string]string

func newHistory() *history { return &history{steps: map[string][]step{}} }

// asks notes writes before they are sent, all with one answer. What will be refused is not noted: it must never be there.
func (h *history) asks(answer string, names users) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for email, name := range names {
		h.steps[email] = append(h.steps[email], step{answer: answer, name: name})
	}
}

func (h *history) shown(next list) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lists = append(h.lists, next)
}

// received notes that an answer came.
func (h *history) received(answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, answer)
}

func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.steps)
}

// A knowledge is what had been answered at two moments of a trace: what is there must be at least as new as the first,
// and at most one step of each client newer than the second.
type knowledge struct {
	*history
	answers      map[string]int // the event at which each began to be sent
	since, until int
}

// answered reports whether an answer had begun to be sent by a moment.
func (k knowledge) answered(answer string, by int) bool {
	at, known := k.answers[answer]
	return known && at <= by
}

// newest returns how many steps of a user were certain at a moment.
func (k knowledge) newest(steps []step, by int) (n int) {
	for n < len(steps) && k.answered(steps[n].answer, by) {
		n++
	}
	return n
}

// shownTo returns how many steps of each user clients had been shown.
func (k knowledge) shownTo() map[string]int {
	least := map[string]int{}
	for _, list := range k.lists {
		if !k.answered(list.answer, k.since) {
			continue
		}
		for email, name := range list.users {
			for n, step := range k.steps[email] {
				if step.name == name {
					least[email] = max(least[email], n+1)
				}
			}
		}
	}
	return least
}

// check compares users with what is known of them.
func (k knowledge) check(found users) error {
	rest := maps.Clone(found)
	files := map[string]string{} // which of the steps that may be there are
	least := k.shownTo()
	for email, steps := range k.steps {
		delete(rest, email)
		from, to := max(k.newest(steps, k.since), least[email]), min(k.newest(steps, k.until)+1, len(steps))
		have := -1
		for n := from; n <= max(from, to); n++ {
			if found[email] == nameAfter(steps, n) {
				have = n
			}
		}
		if have < 0 {
			return fmt.Errorf("%s is %.20q, and should be %.20q or %d steps newer",
				email, found[email], nameAfter(steps, from), to-from)
		}
		if to > from && k.since == k.until {
			if err := whole(files, steps[to-1].answer, have == to); err != nil {
				return err
			}
		}
	}
	for email := range rest {
		return fmt.Errorf("%s is there and was never sent", email)
	}
	return nil
}

// whole returns an error if some writes with one answer are there, and others are not.
func whole(seen map[string]string, answer string, there bool) error {
	now := fmt.Sprint(there)
	if seen[answer] == "" {
		seen[answer] = now
	}
	if seen[answer] != now {
		return fmt.Errorf("a part of what %s asked for is there", answer)
	}
	return nil
}

func nameAfter(steps []step, n int) string {
	if n == 0 {
		return ""
	}
	return steps[n-1].name
}

// short shows users in an error.
func (u users) short() string {
	text := fmt.Sprint(len(u), " users:")
	for email, name := range u {
		text += fmt.Sprintf(" %s=%.12s", email, name)
	}
	return strings.TrimSpace(fmt.Sprintf("%.300s", text))
}
