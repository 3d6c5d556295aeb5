package kept

import (
	"context"
	"runtime"
	"sync"

	"users-api/models"
)

// rounds lets requests that arrive together share one look at the database. A request joins the round that has not begun
// yet, and never the one under way: a look that began before it arrived could miss a commit that it knows of.
type rounds struct {
	look func() (*list, error)

	mu     sync.Mutex
	next   *round // the round that has not begun, when somebody has asked for one
	closed bool

	looking sync.Mutex // held by the round under way
}

// round is one look, for everybody who asked before it began.
type round struct {
	askers int32
	done   chan struct{}
	list   *list
	err    error
}

// close waits for the round under way, and refuses those who ask later.
func (r *rounds) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.looking.Lock() // and is never given back: there is no round any more
}

// get returns the list as of a moment after the call, or nil when there is none to keep. It must be released.
func (r *rounds) get(ctx context.Context) (*list, error) {
	joined, first, err := r.join()
	if err != nil {
		return nil, err
	}
	if first {
		r.run(joined) // here and not on a goroutine of its own: waking one takes longer than the look
		return joined.list, joined.err
	}
	select {
	case <-joined.done:
		return joined.list, joined.err
	case <-ctx.Done():
		go joined.leave()
		return nil, ctx.Err()
	}
}

// join returns the round that has not begun yet. The first to ask for it is to run it.
func (r *rounds) join() (joined *round, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, false, models.ErrClosed
	}
	if r.next == nil {
		r.next, first = &round{done: make(chan struct{})}, true
	}
	r.next.askers++
	return r.next, first, nil
}

// run waits for the round under way and then looks, for everybody who has asked by then.
func (r *rounds) run(next *round) {
	r.looking.Lock()
	defer r.looking.Unlock()
	runtime.Gosched() // let requests that are ready ask as well
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	defer close(next.done)
	if next.list, next.err = r.look(); next.list != nil {
		next.list.readers.Add(next.askers)
	}
}

// leave releases the list of an asker that has gone.
func (r *round) leave() {
	<-r.done
	if r.list != nil {
		r.list.release()
	}
}
