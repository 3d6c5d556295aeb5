package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errRefused = errors.New("refused")
	errBroken  = errors.New("broken")
	errCommit  = errors.New("the commit is refused")
)

// tx is a transaction: what was written in it.
type tx struct{ written []string }

// log is a database that keeps texts: what is committed, in order, and how many writes each commit stored.
type log struct {
	Group[*tx, string]
	goOn    chan bool // the first transaction waits for this
	begin   error
	refuses int // commits of more writes than this
	texts   []string
	commits []int
}

func newLog() *log {
	l := &log{goOn: make(chan bool), refuses: 1000}
	var first sync.Once
	l.Group = Group[*tx, string]{
		Patience: time.Hour, IsBroken: func(err error) bool { return errors.Is(err, errBroken) },
		Committed: func(writes int) { l.commits = append(l.commits, writes) },
		Transact: func(ctx context.Context, _ time.Time, run func(*tx) ([]string, error)) error {
			first.Do(func() { <-l.goOn })
			if err := cmp.Or(ctx.Err(), l.begin); err != nil {
				return err
			}
			t := &tx{}
			entries, err := run(t)
			if err != nil {
				return err
			}
			if len(t.written) > l.refuses || !slices.Equal(entries, t.written) {
				return errCommit
			}
			l.texts = append(l.texts, t.written...)
			return nil
		},
	}
	return l
}

// writing returns a write of a text, which it notes, or with an error one that is refused, and leaves nothing behind.
func writing(text string, err error) func(*tx) ([]string, error) {
	return func(t *tx) ([]string, error) {
		if err == nil {
			t.written = append(t.written, text)
		}
		return []string{text}, err
	}
}

// inBubble runs a test in which time passes only once all goroutines wait.
func inBubble(t *testing.T, name string, test func(*testing.T, *log)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, newLog()) }) })
}

// pass returns once all others wait.
func pass() { time.Sleep(time.Millisecond) }

// together does writes at once: the first of them begins a transaction, and all others wait for that. It returns their
// outcomes.
func (l *log) together(t *testing.T, writes ...func(*tx) ([]string, error)) []error {
	t.Helper()
	outcomes := make([]error, len(writes))
	var wait sync.WaitGroup
	for i, write := range writes {
		wait.Go(func() { outcomes[i] = l.Do(t.Context(), write) })
		pass()
	}
	close(l.goOn)
	wait.Wait()
	return outcomes
}

func TestWritesShareACommitAndHaveOutcomesOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		name     string
		set      func(*log)
		outcomes []error // of the writes a, b and c, before what the database does
		want     []error
		texts    string
		commits  []int
	}{
		{"all are stored in one commit", nil, []error{nil, nil, nil}, []error{nil, nil, nil}, "[a b c]", []int{3}},
		{"one that is refused concerns no other", nil, []error{nil, errRefused, nil}, []error{nil, errRefused, nil}, "[a c]", []int{2}},
		{"all that are refused commit nothing", nil, []error{errRefused, errRefused, errRefused},
			[]error{errRefused, errRefused, errRefused}, "[]", nil},
		{"one that ends the transaction lets the others go on alone", nil, []error{nil, errBroken, nil},
			[]error{nil, errBroken, nil}, "[a c]", []int{1, 1}},
		{"a commit that is refused is that of each alone", func(l *log) { l.refuses = 1 }, []error{nil, errRefused, nil},
			[]error{nil, errRefused, nil}, "[a c]", []int{1, 1}},
		{"where each is refused, so is each", func(l *log) { l.refuses = 0 }, []error{nil, nil, nil},
			[]error{errCommit, errCommit, errCommit}, "[]", nil},
		{"where nothing can begin, who has waited too long is told at once",
			func(l *log) { l.begin, l.Patience = errBroken, 0 }, []error{nil, nil, nil}, []error{errBroken, errBroken, errBroken}, "[]", nil},
	} {
		inBubble(t, test.name, func(t *testing.T, l *log) {
			if test.set != nil {
				test.set(l)
			}
			var writes []func(*tx) ([]string, error)
			for i, err := range test.outcomes {
				writes = append(writes, writing(string(rune('a'+i)), err))
			}
			got := l.together(t, writes...)
			slices.Sort(l.texts) // those that go on alone take turns in any order
			if !slices.Equal(got, test.want) || fmt.Sprint(l.texts) != test.texts || !slices.Equal(l.commits, test.commits) {
				t.Errorf("%v, stored are %v in commits of %v", got, l.texts, l.commits)
			}
		})
	}
}

func TestWhoGoesTakesNobodyWithIt(t *testing.T) {
	inBubble(t, "who leaves while it leads", leavingLeader)
	inBubble(t, "a panic", panicking)
}

// An import may hold up the one that leads for longer than the others' patience.
func leavingLeader(t *testing.T, l *log) {
	l.Patience = 0
	leaving, leave := context.WithCancel(t.Context())
	left, stays := make(chan error, 1), make(chan error, 1)
	go func() { left <- l.Do(leaving, writing("never", nil)) }()
	pass()
	go func() { stays <- l.Do(t.Context(), writing("a", nil)) }()
	pass()
	leave()
	close(l.goOn)
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves is told %v", err)
	}
	if err := <-stays; err != nil || fmt.Sprint(l.texts) != "[a]" {
		t.Errorf("who stays is told %v, stored are %v", err, l.texts)
	}
}

// A panic in a write ends the request that commits it. No other waits for ever, and the next write succeeds.
func panicking(t *testing.T, l *log) {
	panicked := make(chan any)
	go func() {
		defer func() { panicked <- recover() }()
		_ = l.Do(t.Context(), writing("a", nil))
	}()
	pass()
	outcome := make(chan error)
	go func() { outcome <- l.Do(t.Context(), func(*tx) ([]string, error) { panic("a bug") }) }()
	pass()
	close(l.goOn)
	if err := <-outcome; !errors.Is(err, errAborted) {
		t.Errorf("the write that panics is told %v", err)
	}
	if reason := <-panicked; reason != "a bug" {
		t.Errorf("the request that commits it ends with %v", reason)
	}
	if err := l.Do(t.Context(), writing("next", nil)); err != nil || fmt.Sprint(l.texts) != "[next]" {
		t.Errorf("the next write: %v, stored are %v", err, l.texts)
	}
}
