package listcache

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"users-api/models"
)

// A refresh shows what was committed before it began. Nobody who asks later is answered by it.
func TestAListAskedForDuringARoundIsOfTheNext(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	began, goOn := make(chan struct{}), make(chan struct{})
	refresh := cache.latest
	cache.latest = func() (*list, error) {
		l, err := refresh()
		began <- struct{}{} // the list was read
		<-goOn
		return l, err
	}
	var wait sync.WaitGroup
	wait.Go(func() { ask(t, users, cache) })
	<-began
	users.put(1, "after the reading")
	wait.Go(func() {
		if text, _ := ask(t, users, cache); !strings.Contains(text, "after the reading") {
			t.Errorf("the list is %s", text)
		}
	})
	awaitAsker(cache)
	goOn <- struct{}{}
	<-began
	goOn <- struct{}{}
	wait.Wait()
}

// awaitAsker waits until somebody has asked for the next refresh.
func awaitAsker(cache *Cache) {
	for asked := false; !asked; runtime.Gosched() {
		cache.mu.Lock()
		asked = cache.next != nil
		cache.mu.Unlock()
	}
}

func TestAnAskerThatGoesAwayReleasesItsList(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	users.put(1, "a")
	cache.turn <- struct{}{} // a refresh is under way, so that the next is waited for
	first := make(chan *list)
	go func() {
		l, _ := cache.get(ctx)
		first <- l
	}()
	awaitAsker(cache)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := cache.get(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("an asker that went away got %v", err)
	}
	<-cache.turn
	l := <-first
	for l.readers.Load() != 1 {
		runtime.Gosched() // until the one that left has released it
	}
	l.release()
}

func TestAListThatNobodyReadsIsReleased(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	users.put(1, "a")
	for range 3 {
		_ = cache.List(ctx, func(models.List) error { return errors.New("not wanted") }, paged(nil))
	}
	if readers := cache.current.readers.Load(); readers != 0 {
		t.Errorf("%d readers hold a list that nobody reads", readers)
	}
}

func TestAfterTheEndThereIsNoRound(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	cache.Close(ctx)
	err := cache.List(ctx, func(models.List) error { return nil }, paged(users.users))
	if !errors.Is(err, models.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A request that has joined a refresh which does not begin any more is told so.
func TestAtTheEndARequestThatWaitsIsRefused(t *testing.T) {
	t.Parallel()
	_, cache := open(1 << 20)
	joined, err := cache.join()
	if err != nil {
		t.Fatal(err)
	}
	cache.Close(ctx)
	if _, err := cache.await(ctx, joined); !errors.Is(err, models.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// The end of a request's own context ends its wait for the refresh under way, whichever of the next refresh it is.
func TestARequestThatGoesAwayWaitsForNoRound(t *testing.T) {
	t.Parallel()
	_, cache := open(1 << 20)
	cache.turn <- struct{}{} // a refresh is under way
	gone, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	for range 2 {
		go func() { _, err := cache.get(gone); ended <- err }()
	}
	awaitAsker(cache)
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	<-cache.turn
	cache.Close(ctx) // and those that left are let go
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
func TestTheEndWaitsForTheRoundUnderWay(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	began, goOn := make(chan struct{}), make(chan struct{})
	refresh := cache.latest
	cache.latest = func() (*list, error) {
		close(began)
		<-goOn
		return refresh()
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
