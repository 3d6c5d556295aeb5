package listcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The plain model of users compares lists of a real storage with what is stored. Here a reading fails midway.
func TestAListThatIsReadDoesNotChange(t *testing.T) {
	t.Parallel()
	source, cache := open(1 << 20)
	for id := range int64(1500) {
		source.put(id-700, "before")
	}
	held, release, err := cache.List(ctx)
	before := text(held)
	source.put(799, "changed") // the last one
	source.breaks = errors.New("the disk failed")
	if _, _, failed := cache.List(ctx); !errors.Is(failed, source.breaks) || err != nil {
		t.Errorf("a list that is read midway is answered %v, %v", failed, err)
	}
	if source.breaks = nil; !isCached(t, source, cache) || text(held) != before {
		t.Error("after the failure, a list is not cached, or one that is being read has changed")
	}
	release()
}

func TestOnlyWhatHasChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	source, cache := open(16 << 20)
	for id := range int64(5000) {
		source.put(id+1, "before")
	}
	source.others(func() {})
	isCached(t, source, cache)
	for _, step := range []struct {
		name  string
		write func()
		again []int64 // segments
		read  int     // rows
	}{
		{"a creation", func() { source.put(5001, "new") }, []int64{9}, 1},
		{"a deletion", func() { source.remove(2048) }, []int64{4}, 0},
		{"a change of the first of a segment", func() { source.put(512, "new") }, []int64{1}, 1},
		{"two changes in a segment", func() { source.put(700, "new"); source.put(600, "new") }, []int64{1}, 101},
		{"three writes", func() { source.remove(1); source.put(2047, "new"); source.put(5002, "new") }, []int64{0, 3, 9}, 2},
		{"nothing", func() {}, nil, 0},
	} {
		source.again, source.read = nil, 0
		if step.write(); !isCached(t, source, cache) {
			t.Errorf("after %s the list is not cached", step.name)
		}
		if !slices.Equal(source.again, step.again) || source.read != step.read {
			t.Errorf("after %s the segments %v and %d rows were read, want %v and %d", step.name, source.again, source.read, step.again, step.read)
		}
	}
	if source.readAll != 1 {
		t.Errorf("everything was read %d times", source.readAll)
	}
}

func TestAListIsCachedAsLongAsItFits(t *testing.T) {
	t.Parallel()
	source := &table{}
	source.put(1, "one")
	source.put(2, "two")
	size := len(array(source.rows)) + 2*rowBytes
	for maxBytes, fits := range map[int]bool{size: true, size - 2: false} {
		cache := New(source, maxBytes)
		for _, step := range []struct {
			how    string
			write  func()
			cached bool
		}{
			{"read first", func() {}, fits},
			{"read, and is too large", func() { source.others(func() { source.put(4, "a long name") }) }, false},
			{"found to be small while it was sent", func() { source.remove(4) }, false},
			{"read again", func() { source.put(2, "owt") }, fits},
			{"patched", func() { source.put(2, "two") }, fits},
		} {
			if step.write(); isCached(t, source, cache) != step.cached {
				t.Errorf("of %d bytes, %d may be cached: one that was %s is cached: %t", size, maxBytes, step.how, !step.cached)
			}
		}
	}
}

// A segment of long rows can be larger than all memory: it is given up as soon as it is too large, and not tried again.
func TestAListThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, begin := range map[string]func(*table){
		"the first list":                         func(*table) {},
		"a segment in which rows were changed":   func(source *table) { source.put(1, "short") },
		"a segment beside one that is unchanged": func(source *table) { source.put(1000, long) },
	} {
		source, cache := open(3500)
		if begin(source); len(source.rows) > 0 && !isCached(t, source, cache) {
			t.Errorf("%s: it is not cached at first", name)
		}
		for id := range int64(400) {
			source.put(id+2, long)
		}
		source.read = 0
		for range 3 {
			if l, _, err := cache.List(ctx); l != nil || err != nil || source.read == 0 || source.read > 4 {
				t.Errorf("%s: %d rows were read, cached: %t, %v", name, source.read, l != nil, err)
			}
		}
	}
}

// What slow readers hold beside the list is bounded by as much again, and rows that lists share count once.
func TestListsThatAreBeingReadAreBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		rows       int64
		most, held int // how many times the list may be in memory, and how many lists that differ in one row are
	}{
		{"lists that share nothing", 1, 2, 3}, {"lists that share three of four segments", 2048, 2, 6},
	} {
		source, cache := open(0)
		for id := range test.rows {
			source.put(id, "name x")
		}
		cache.maxBytes = test.most * (len(array(source.rows)) + int(test.rows)*rowBytes + int((test.rows+511)/512)*segmentBytes)
		var releases []func()
		for i := range test.held + 1 {
			source.put(0, fmt.Sprint("name ", i))
			l, release, err := cache.List(ctx)
			if releases = append(releases, release); (l != nil) != (i < test.held) || err != nil {
				t.Errorf("%s: list %d is cached: %t, %v", test.name, i, l != nil, err)
			}
		}
		for _, release := range releases {
			release()
		}
		if !isCached(t, source, cache) {
			t.Errorf("%s: none is cached after all were released", test.name)
		}
	}
}

// A list shows what was committed before it was asked for. A request that arrives during a question does not share it,
// and those that wait together share the next one.
func TestAListAskedForDuringAQuestionIsOfTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, cache := open(1 << 20)
		source.after = func() { time.Sleep(time.Hour) } // every row was read
		var wait sync.WaitGroup
		wait.Go(func() { _, _, _ = cache.List(ctx) })
		synctest.Wait()
		source.put(1, "after the reading")
		for range 2 {
			wait.Go(func() {
				if l, _, err := cache.List(ctx); err != nil || text(l) != array(source.rows) {
					t.Errorf("got %v, %v", l, err)
				}
			})
		}
		if wait.Wait(); source.readAll != 1 || len(source.again) != 1 {
			t.Errorf("for the two, every row was read %d times, and the segments %v", source.readAll-1, source.again)
		}
	})
}

// A source that does not answer ends each call after a while. Requests that wait for one another must not wait for several.
func TestWhileTheSourceIsSilentEachRequestIsToldWithin5s(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, cache := open(1 << 20)
		defer cache.Close(ctx)
		isCached(t, source, cache)
		failure, fails := errors.New("the server did not answer in time"), 4700*time.Millisecond
		source.silent = func(ctx context.Context) error {
			after := fails
			fails = 3 * time.Second // as when a new connection fails
			return cmp.Or(pass(ctx, after), failure)
		}
		var wait sync.WaitGroup
		for _, moment := range []time.Duration{0, 1, 2 * time.Second, 4*time.Second + 1, 4690 * time.Millisecond, 5 * time.Second, 9 * time.Second} {
			for name, request := range map[string]func() error{
				"a list": func() error { _, _, err := cache.List(ctx); return err },
				"a page": func() error { _, err := cache.Peek(ctx, 1); return err },
			} {
				wait.Go(func() {
					time.Sleep(moment)
					arrived := time.Now()
					if err := request(); !errors.Is(err, failure) || time.Since(arrived) > 5*time.Second {
						t.Errorf("%s after %s got %v after %s", name, moment, err, time.Since(arrived))
					}
				})
			}
		}
		wait.Wait()
	})
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

// A client that leaves while another waits for storage must not make later lists fail for the same reason.
func TestAListIsReadAgainOnceStorageAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, cache := open(1 << 20)
		defer cache.Close(ctx)
		source.silent = func(ctx context.Context) error {
			return cmp.Or(pass(ctx, time.Second), errors.New("storage is away"))
		}
		gone, leave := context.WithTimeout(ctx, time.Second/2)
		defer leave()
		go func() { _, _, _ = cache.List(ctx) }()
		synctest.Wait()
		if _, _, err := cache.List(gone); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Minute)
		if source.silent = nil; !isCached(t, source, cache) {
			t.Error("the list is not in memory")
		}
	})
}

// A page right after a write may not wait until the list is read, which may be long, whichever has found that necessary.
func TestAPageDoesNotWaitUntilEveryRowIsRead(t *testing.T) {
	t.Parallel()
	for _, isPageFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			source, cache := open(1 << 20)
			isCached(t, source, cache)
			source.others(func() { source.put(1, "new") })
			source.during = func(ctx context.Context) error { return pass(ctx, time.Hour) }
			began := time.Now()
			peek := func() {
				if l, err := cache.Peek(ctx, 1); l != nil || err != nil || time.Since(began) > 0 {
					t.Errorf("after %s a page got %v, %v; it came first: %t", time.Since(began), l, err, isPageFirst)
				}
			}
			cache.pages.turn <- struct{}{} // as a question that is being asked
			var wait sync.WaitGroup
			if isPageFirst {
				wait.Go(peek)
				synctest.Wait()
			}
			wait.Go(func() { isCached(t, source, cache) })
			synctest.Wait()
			<-cache.pages.turn
			synctest.Wait()
			peek()
			wait.Wait()
		})
	}
}

// After a commit of which nothing is known, pages come from storage until they have cost as much as reading every row
// twice: then the list is read beside them. After known writes they come from memory at once.
func TestPagesThatReadMuchFromStorageRefreshTheList(t *testing.T) {
	t.Parallel()
	source, cache := open(1 << 20)
	for id := range int64(2000) {
		source.put(id, "a name")
	}
	isCached(t, source, cache)
	page := func() string {
		l, err := cache.Peek(ctx, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if l == nil {
			return "from storage"
		}
		return text(l)
	}
	for i := range 3 {
		source.others(func() {})
		pages := 0
		for ; page() == "from storage"; pages++ {
			for pages >= 2*10_000/1000 && cache.current.Load() == nil {
				runtime.Gosched() // until the list was read
			}
		}
		if pages < 2*10_000/1000 || pages > 100 || source.readAll != i+2 {
			t.Errorf("%d pages came from storage, and everything was read %d times", pages, source.readAll)
		}
	}
	if source.put(5, "changed"); !strings.Contains(page(), "changed") {
		t.Error("after a known write a page is not in memory")
	}
	if readers := cache.current.Load().readers.Load(); readers != 0 {
		t.Errorf("%d readers hold a list that no request reads", readers)
	}
}

func TestARequestThatGoesAwayHoldsNoList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, cache := open(1 << 20)
		cache.lists.turn <- struct{}{} // as a question that is being asked
		gone, cancel := context.WithCancel(ctx)
		ended, first := make(chan error), make(chan *Array)
		go func() { _, _, err := cache.List(gone); ended <- err }()
		go func() { l, _, _ := cache.List(ctx); first <- l }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-cache.lists.turn
		if readers := (<-first).readers.Load(); readers != 1 {
			t.Errorf("%d readers hold the list of one", readers)
		}
	})
}

// Storage closes its connections after the cache. A stop has little time, and reading every row may take long.
func TestTheEndWaitsForTheRefreshUnderWayAsLongAsItMay(t *testing.T) {
	t.Parallel()
	for _, isCancelled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			source, cache := open(1 << 20)
			source.during = func(ctx context.Context) error { return pass(ctx, time.Hour) }
			asked := make(chan error, 1)
			go func() { _, _, err := cache.List(ctx); asked <- err }()
			synctest.Wait()
			stop, cancel := context.WithCancel(ctx)
			defer cancel()
			if isCancelled {
				cancel()
			}
			began := time.Now()
			cache.Close(stop)
			took, err := time.Since(began), <-asked
			if (took >= time.Hour) == isCancelled || errors.Is(err, ErrClosed) != isCancelled {
				t.Errorf("with the context ended %t: it took %s, and the list got %v", isCancelled, took, err)
			}
			if _, _, err := cache.List(ctx); !errors.Is(err, ErrClosed) {
				t.Errorf("a list afterwards: %v", err)
			}
		})
	}
}
