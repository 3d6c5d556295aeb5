package concurrency

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

const getList = "GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n"

// hold asks for a list and does not read it.
func hold(t *testing.T, p *program.Program) *program.Conn {
	t.Helper()
	conn := p.Dial(t)
	conn.Buffer(64 << 10) // much smaller, and reading it would take minutes
	conn.Send(getList)
	conn.Begin()
	return conn
}

// Users with names of any length come and go, and readers hold older lists meanwhile. Each list must be the one of
// the moment in which it was asked for.
func TestListsOfAnySizeAreRightWhileOthersAreHeld(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"LIST_MEMORY_MIB=32", "LIST_MEMORY_MIB=3"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			w := world{p: program.Serve(t, setting), random: rand.New(rand.NewPCG(seed, 0)), names: map[int64]string{}}
			for range program.Times(30, 100) {
				w.step(t)
			}
			for len(w.held) > 0 {
				w.release(t)
			}
		})
	}
}

// A world is what a program should list, and the lists that readers hold.
type world struct {
	p      *program.Program
	random *rand.Rand
	names  map[int64]string // by id
	order  []int64
	held   []heldList
	steps  int
}

// A heldList is a list that was asked for and is not read yet, and the users of that moment.
type heldList struct {
	conn  *program.Conn
	names map[int64]string
	until int // the step in which it is read: the program gives up on a reader after 24 s
}

// step does one thing at random, and looks at the list.
func (w *world) step(t *testing.T) {
	t.Helper()
	w.steps++
	switch choice := w.random.IntN(10); {
	case choice < 5 && len(w.order) < 20:
		w.create(t)
	case choice < 8 && len(w.order) > 0:
		i := w.random.IntN(len(w.order))
		w.p.Delete(t, w.order[i])
		delete(w.names, w.order[i])
		w.order = slices.Delete(w.order, i, i+1)
	case len(w.held) < 4:
		w.held = append(w.held, heldList{hold(t, w.p), maps.Clone(w.names), w.steps + 8})
	}
	if len(w.held) > 0 && w.held[0].until <= w.steps {
		w.release(t)
	}
	w.compare(t, w.p.List(t), w.names)
}

func (w *world) create(t *testing.T) {
	t.Helper()
	lengths := []int{1, 1, 100, 1000, 70_000, 262_144, 300_000, 1_000_000}
	name := strings.Repeat("n", lengths[w.random.IntN(len(lengths))])
	id := w.p.Create(t, name, fmt.Sprint(w.steps))
	w.names[id] = name
	w.order = append(w.order, id)
}

// release reads the list that has been held the longest.
func (w *world) release(t *testing.T) {
	t.Helper()
	w.compare(t, w.held[0].conn.Answer().Users(t), w.held[0].names)
	w.held = w.held[1:]
}

// compare compares a list with the users of the moment in which it was asked for. A list that is too large to be kept
// is read while it is sent: a user that was deleted meanwhile may be missing, and one that was created may be there.
func (w *world) compare(t *testing.T, users []program.User, names map[int64]string) {
	t.Helper()
	listed := map[int64]bool{}
	for _, user := range users {
		listed[user.ID] = true
		if name, known := names[user.ID]; known && name != user.Name {
			t.Fatalf("%d is listed with a name of %d bytes, and not of %d", user.ID, len(user.Name), len(name))
		}
	}
	for id := range names {
		if _, exists := w.names[id]; exists && !listed[id] {
			t.Fatalf("%d is not listed", id)
		}
	}
	if len(listed) != len(users) {
		t.Fatalf("%d users are listed in %d places", len(listed), len(users))
	}
}
