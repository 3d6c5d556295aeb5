// Package groupcommit lets writes share a commit. A disk takes as long to flush one row as a hundred: so the writes that
// arrive during a commit wait, and all of them go into the next transaction (group commit, as in other databases). It
// knows functions and transactions, and nothing of what they do.
//
// Each write is a function with its own outcome. One that is refused must leave nothing behind in the transaction, as a
// single statement of SQL does, so it concerns no other.
package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Group is the writes that wait for a commit, and the database that runs their transactions, one at a time.
type Group[Tx, Entry any] struct {
	// Transact begins a transaction, calls run, stores the entries that this returns, and commits; an error of run rolls it
	// back. If it cannot begin, it gives up when the write has waited for too long since it arrived, or when the context
	// has ended.
	Transact func(ctx context.Context, arrived time.Time, run func(tx Tx) ([]Entry, error)) error
	// IsBroken reports whether the error of a write may have ended the transaction, and not that write alone.
	IsBroken func(err error) bool
	// Committed is called after each commit, with the number of writes that it stored.
	Committed func(writes int)
	// Patience is how long a write waits: where a transaction cannot begin, those that have waited longer fail with it.
	Patience time.Duration

	once sync.Once
	turn chan struct{} // holds a value while a transaction is under way

	mu      sync.Mutex // guards waiting
	waiting []*write[Tx, Entry]
}

type write[Tx, Entry any] struct {
	run     func(Tx) ([]Entry, error)
	arrived time.Time
	outcome error
	done    chan error
}

// errAborted is the outcome of the writes that shared a transaction with one that panicked.
var errAborted = errors.New("the transaction was rolled back")

// Do calls run in a transaction, perhaps beside others and perhaps again, and returns its outcome when that is
// committed. The end of the context ends the wait for a transaction to begin.
func (g *Group[Tx, Entry]) Do(ctx context.Context, run func(tx Tx) ([]Entry, error)) error {
	w := &write[Tx, Entry]{run: run, arrived: time.Now(), done: make(chan error, 1)}
	g.once.Do(func() { g.turn = make(chan struct{}, 1) })
	g.mu.Lock()
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		if len(g.take(func(other *write[Tx, Entry]) bool { return other == w })) > 0 { // its transaction has not begun
			return ctx.Err()
		}
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
		if len(w.done) == 0 { // the one that had the turn before has not taken it
			g.lead(ctx, w)
		}
	}
	return <-w.done
}

// lead commits all writes that wait once a transaction has begun, for their goroutines, too: those wait in Do.
func (g *Group[Tx, Entry]) lead(ctx context.Context, leader *write[Tx, Entry]) {
	var batch []*write[Tx, Entry]
	stored, err := 0, errAborted // unless the transaction ends
	defer func() {
		for _, w := range batch {
			w.done <- cmp.Or(err, w.outcome)
		}
	}()
	runtime.Gosched() // let requests that are ready join
	err = g.Transact(ctx, leader.arrived, func(tx Tx) (entries []Entry, err error) {
		batch = g.take(func(*write[Tx, Entry]) bool { return true })
		for _, w := range batch {
			var own []Entry
			own, w.outcome = w.run(tx)
			if w.outcome == nil {
				stored, entries = stored+1, append(entries, own...)
			} else if len(batch) == 1 || g.IsBroken(w.outcome) {
				return nil, w.outcome
			}
		}
		return entries, nil
	})
	switch {
	case len(batch) == 0: // it has not begun; that the leader's client is gone is no reason for the others to end
		batch = g.take(func(w *write[Tx, Entry]) bool {
			return w == leader || ctx.Err() == nil && time.Since(w.arrived) > g.Patience
		})
	case err == nil && stored > 0:
		g.Committed(stored)
	case err != nil && len(batch) > 1: // the database has refused what they have in common: each goes on alone
		err = nil
		for _, w := range batch {
			w.outcome = errAborted
			w.outcome = g.Transact(context.WithoutCancel(ctx), w.arrived, w.run)
			if w.outcome == nil {
				g.Committed(1)
			}
		}
	}
}

// take takes writes out of those that wait, in the order in which they arrived.
func (g *Group[Tx, Entry]) take(which func(*write[Tx, Entry]) bool) (taken []*write[Tx, Entry]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(w *write[Tx, Entry]) bool {
		if which(w) {
			taken = append(taken, w)
			return true
		}
		return false
	})
	return taken
}
