package changes

import (
	"sync"
	"sync/atomic"
	"testing"
)

// work is what goes on at the same time until its end.
type work struct {
	t    *testing.T
	done atomic.Bool
	wait sync.WaitGroup
}

func (w *work) repeat(what func()) {
	w.wait.Go(func() {
		for !w.done.Load() {
			what()
		}
	})
}

// follow lets a client follow the feed. Its first error ends that.
func (w *work) follow(f *follower) {
	w.wait.Go(func() {
		for !w.done.Load() {
			if err := f.live(); err != nil {
				w.t.Error(err)
				return
			}
		}
	})
}

func (w *work) end() {
	w.done.Store(true)
	w.wait.Wait()
}
