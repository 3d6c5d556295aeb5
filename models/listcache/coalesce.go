package listcache

import (
	"context"
	"runtime"
	"sync"

	"users-api/models"
)

// coalescer lets requests that arrive together share one refresh of the list. A request joins the refresh that has not begun
// yet, and never the one under way: a refresh that began before it arrived could miss a commit that it knows of.
type coalescer struct {
	latest func() (*list, error)

	mu     sync.Mutex
	next   *refresh // the refresh that has not begun, if a request has asked for one
	closed bool

	turn chan struct{} // holds a value while a refresh is under way, and after the end
}

// refresh is one reading, for every request that asked before it began.
type refresh struct {
	askers int32
	done   chan struct{}
	list   *list
	err    error
}

// close waits for the refresh under way, and refuses the requests that wait for the next.
func (r *coalescer) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.turn <- struct{}{} // and it stays there: no refresh begins any more
	if r.next != nil {
		r.next.err = models.ErrClosed
		close(r.next.done)
	}
}

// get returns the list as of a moment after the call, or nil when there is none to keep. It must be released.
func (r *coalescer) get(ctx context.Context) (*list, error) {
	joined, err := r.join()
	if err != nil {
		return nil, err
	}
	return r.await(ctx, joined)
}

// join returns the refresh that has not begun yet.
func (r *coalescer) join() (*refresh, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, models.ErrClosed
	}
	if r.next == nil {
		r.next = &refresh{done: make(chan struct{})}
	}
	r.next.askers++
	return r.next, nil
}

// await returns the list of a refresh. Whichever of its requests has the turn first runs it, on its own goroutine: waking
// another would take longer than most refreshes.
func (r *coalescer) await(ctx context.Context, joined *refresh) (*list, error) {
	select {
	case <-joined.done:
	case r.turn <- struct{}{}:
		r.run(joined)
	case <-ctx.Done():
		go joined.leave()
		return nil, ctx.Err()
	}
	return joined.list, joined.err
}

// run runs a refresh for every request that has asked by then, and gives the turn back. Another request of the refresh may
// have run it already.
func (r *coalescer) run(joined *refresh) {
	defer func() { <-r.turn }()
	select {
	case <-joined.done:
		return
	default:
	}
	runtime.Gosched() // let requests that are ready ask as well
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	defer close(joined.done)
	if joined.list, joined.err = r.latest(); joined.list != nil {
		joined.list.readers.Add(joined.askers)
	}
}

// leave releases the list of a request that does not wait any longer.
func (r *refresh) leave() {
	<-r.done
	if r.list != nil {
		r.list.release()
	}
}
