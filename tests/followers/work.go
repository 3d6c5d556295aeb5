package followers

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Work is what goes on at the same time until its end.
type Work struct {
	t    *testing.T
	done atomic.Bool
	wait sync.WaitGroup
}

// Begin returns work for a test. Nothing goes on yet.
func Begin(t *testing.T) *Work { return &Work{t: t} }

// Repeat does something again and again.
func (w *Work) Repeat(what func()) {
	w.wait.Go(func() {
		for !w.done.Load() {
			what()
		}
	})
}

// Follow lets a client follow the feed. Its first error ends that.
func (w *Work) Follow(f *Follower) {
	w.wait.Go(func() {
		for !w.done.Load() {
			if err := f.live(); err != nil {
				w.t.Error(err)
				return
			}
		}
	})
}

// End waits for what goes on.
func (w *Work) End() {
	w.done.Store(true)
	w.wait.Wait()
}
