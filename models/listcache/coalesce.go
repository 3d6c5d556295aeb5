package listcache

import (
	"context"
	"runtime"
	"sync"

	"users-api/models"
)

// coalescer lets requests that arrive together share one refresh of the list. A request joins the refresh that has not
// begun yet, never the one under way: a refresh that began before the request arrived could miss a commit that the
// client already knows of.
type coalescer struct {
	latest func() (*list, error)

	mu     sync.Mutex
	next   *refresh // the refresh that has not begun, if a request has asked for one
	closed bool

	turn chan struct{} // holds a value while a refresh is under way, and after close
}

// refresh is one reading of the list, for every request that asked before it began.
type refresh struct {
	askers int32
	done   chan struct{}
	list   *list
	err    error
}

// close waits for the refresh under way, and refuses the requests that wait for the next one.
func (r *coalescer) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.turn <- struct{}{} // it stays there, so no further refresh begins
	if r.next != nil {
		r.next.err = models.ErrClosed
		close(r.next.done)
	}
}

// get returns the list as of a moment after the call, or nil if none can be cached. The caller must release it.
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

// await returns the list of a refresh. The first of its requests to get the turn runs the refresh, on its own
// goroutine: waking another goroutine would take longer than most refreshes.
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

// run runs a refresh for every request that has asked by then, and gives the turn back. Another request may have run
// this refresh already.
func (r *coalescer) run(joined *refresh) {
	defer func() { <-r.turn }()
	select {
	case <-joined.done:
		return
	default:
	}
	runtime.Gosched() // let requests that are ready join
	r.mu.Lock()
	r.next = nil
	r.mu.Unlock()
	defer close(joined.done)
	if joined.list, joined.err = r.latest(); joined.list != nil {
		joined.list.readers.Add(joined.askers)
	}
}

// leave releases the list on behalf of a request that no longer waits.
func (r *refresh) leave() {
	<-r.done
	if r.list != nil {
		r.list.release()
	}
}
