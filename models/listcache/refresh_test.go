package listcache

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"users-api/models"
)

// A refresh shows what was committed before it began. A request that arrives later does not share it.
func TestAListAskedForDuringARefreshIsOfTheNext(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	began, goOn := make(chan struct{}), make(chan struct{})
	users.after = func() {
		began <- struct{}{} // the list was read
		<-goOn
	}
	var wait sync.WaitGroup
	wait.Go(func() { ask(t, users, cache) })
	<-began
	users.put(1, "after the reading")
	for range 2 { // these share the next
		arrived := make(chan struct{})
		wait.Go(func() {
			l, err := cache.get(arriving{ctx, arrived})
			if err != nil || !strings.Contains(string(l.segments[0].json), "after the reading") {
				t.Errorf("got %v, %v", l, err)
			}
		})
		<-arrived
	}
	goOn <- struct{}{}
	<-began
	goOn <- struct{}{}
	wait.Wait()
	if users.asked != 1 {
		t.Errorf("the source was asked %d times for the two", users.asked)
	}
}

// A source that does not answer ends each call after a while. Requests that wait for one another must not wait for several.
func TestWhileTheSourceIsSilentEachRequestIsToldWithin5s(t *testing.T) {
	t.Parallel()
	list := func(c *Cache) error { return c.List(ctx, func(models.List) error { return nil }, paged(nil)) }
	page := func(c *Cache) error { _, err := c.Page(ctx, models.Query{Limit: 1}); return err }
	for name, requests := range map[string][]func(*Cache) error{
		"after a list was cached": {list, page}, "before a list was cached": {list},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				users, cache := open(1 << 20)
				defer cache.Close(ctx)
				for range requests[1:] {
					ask(t, users, cache)
				}
				failure, fails := errors.New("the server did not answer in time"), 4700*time.Millisecond
				users.silent = func(ctx context.Context) error {
					after := fails
					fails = 3 * time.Second // as when a new connection fails
					return cmp.Or(pass(ctx, after), failure)
				}
				var wait sync.WaitGroup
				for _, moment := range []time.Duration{0, 1, 2 * time.Second, 4*time.Second + 1, 5 * time.Second, 9 * time.Second} {
					for _, request := range requests {
						wait.Go(func() {
							time.Sleep(moment)
							arrived := time.Now()
							if err := request(cache); !errors.Is(err, failure) || time.Since(arrived) > 5*time.Second {
								t.Errorf("a request after %s got %v after %s", moment, err, time.Since(arrived))
							}
						})
					}
				}
				wait.Wait()
				users.silent, users.during = nil, func(ctx context.Context) error { return pass(ctx, time.Minute) }
				users.put(1, "a long time to read")
				if text, _ := ask(t, users, cache); text != users.text() {
					t.Errorf("the list is %s after the source answers again", text)
				}
			})
		})
	}
}

// pass returns when some time has passed, or an error when the context ends before.
func pass(ctx context.Context, howLong time.Duration) error {
	select {
	case <-time.After(howLong):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arriving tells when a request waits for its turn.
type arriving struct {
	context.Context
	waits chan struct{}
}

func (a arriving) Done() <-chan struct{} {
	close(a.waits)
	return a.Context.Done()
}

func TestAListThatNoRequestReadsIsReleased(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	users.put(1, "a")
	for range 3 {
		_ = cache.List(ctx, func(models.List) error { return errors.New("not wanted") }, paged(nil))
	}
	if readers := cache.current.readers.Load(); readers != 0 {
		t.Errorf("%d readers hold a list that no request reads", readers)
	}
}

func TestAfterTheEndThereIsNoRefresh(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	cache.Close(ctx)
	err := cache.List(ctx, func(models.List) error { return nil }, paged(users.users))
	if !errors.Is(err, models.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAtTheEndARequestThatWaitsIsRefused(t *testing.T) {
	t.Parallel()
	_, cache := open(1 << 20)
	cache.turn <- struct{}{} // a refresh is under way
	arrived, refused := make(chan struct{}), make(chan error)
	go func() { _, err := cache.get(arriving{ctx, arrived}); refused <- err }()
	<-arrived
	atOnce, cancel := context.WithCancel(ctx)
	cancel()
	go cache.Close(atOnce)
	if err := <-refused; !errors.Is(err, models.ErrClosed) {
		t.Errorf("got %v", err)
	}
	<-cache.turn
}

func TestARequestThatGoesAwayWaitsForNoRefreshAndHoldsNoList(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	users.put(1, "a")
	cache.turn <- struct{}{} // a refresh is under way, so that the next is waited for
	gone, cancel := context.WithCancel(ctx)
	arrived, ended := make(chan struct{}), make(chan error)
	go func() { _, err := cache.get(arriving{gone, arrived}); ended <- err }()
	<-arrived
	stays, first := make(chan struct{}), make(chan *list)
	go func() {
		l, _ := cache.get(arriving{ctx, stays})
		first <- l
	}()
	<-stays
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-cache.turn
	for l := <-first; l.readers.Load() != 1; runtime.Gosched() { // until the one that left has released it
	}
}

// A stop has little time: its end breaks off the reading of a list, which may be long.
func TestTheEndOfAStopBreaksOffTheRefreshUnderWay(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	began := make(chan struct{})
	users.during = func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	}
	asked := make(chan error)
	go func() { asked <- cache.List(ctx, func(models.List) error { return nil }, paged(nil)) }()
	<-began
	atOnce, cancel := context.WithCancel(ctx)
	cancel()
	cache.Close(atOnce)
	if err := <-asked; !errors.Is(err, models.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// An engine closes its connection after the cache.
func TestTheEndWaitsForTheRefreshUnderWay(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	began, goOn := make(chan struct{}), make(chan struct{})
	users.after = func() {
		close(began)
		<-goOn
	}
	var wait sync.WaitGroup
	wait.Go(func() { ask(t, users, cache) })
	<-began
	closed := make(chan struct{})
	go func() { cache.Close(ctx); close(closed) }()
	for range 10_000 {
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("it did not wait")
	default:
	}
	close(goOn)
	wait.Wait()
	<-closed
}
