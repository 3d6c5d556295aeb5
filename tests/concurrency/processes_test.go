package concurrency

import (
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/ledger"
	"users-api/tests/program"
)

// Three processes on one database write and read at the same time, and another program writes beside them. What is read
// from any of them shows every commit that was complete before, whichever process made it.
func TestEveryProcessReadsWhatAnotherHasCommitted(t *testing.T) {
	t.Parallel()
	first := program.Serve(t)
	processes := []*program.Program{first, program.Serve(t, "DATA_DIR="+first.DataDir), program.Serve(t, "DATA_DIR="+first.DataDir)}
	other, l := program.OpenOther(t, first.DatabasePath()), ledger.New()
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for i, p := range processes {
		writers.Go(func() { createMany(t, p, l, i, program.Times(30, 60)) })
		writers.Go(func() { changeMany(t, p, l, program.Times(15, 30)) })
		writers.Go(func() { deleteMany(t, p, l, program.Times(10, 20)) })
		for _, read := range []wayToRead{readList, readPages, readUser, readEmail} {
			readers.Go(func() {
				for !done.Load() && readOnce(t, p, l, read) {
				}
			})
		}
	}
	writers.Go(func() { writeFromOutside(other, l, program.Times(10, 20)) })
	writers.Wait()
	done.Store(true)
	readers.Wait()
	for _, p := range processes {
		l.ExpectKept(t, p)
	}
}
