package tests

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/program"
)

func TestEveryListShowsEveryCommitThatWasCompleteBeforeIt(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"kept": "LIST_MEMORY_MIB=32", "streamed": "LIST_MEMORY_MIB=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, setting)
			l := newLedger()
			var writers, readers sync.WaitGroup
			var done atomic.Bool
			for i := range 4 {
				writers.Go(func() { createMany(t, p, l, i, 100) })
			}
			for range 2 {
				writers.Go(func() { deleteMany(t, p, l, 40) })
			}
			other := program.OpenOther(t, p.DatabasePath())
			writers.Go(func() { writeFromOutside(other, l, 40) })
			for range 4 {
				readers.Go(func() {
					for !done.Load() && listOnce(t, p, l) {
					}
				})
			}
			writers.Wait()
			done.Store(true)
			readers.Wait()
			listOnce(t, p, l)
		})
	}
}

// createMany creates users. Every tenth is a duplicate, which no list may ever show.
func createMany(t *testing.T, p *program.Program, l *ledger, client, n int) {
	for i := range n {
		id, err := l.create(p, fmt.Sprintf("%d-%d", client, i-i%10/9))
		if err != nil || (id == 0) != (i%10 == 9) {
			t.Errorf("creation %d got the id %d, %v", i, id, err)
			return
		}
	}
}

func deleteMany(t *testing.T, p *program.Program, l *ledger, n int) {
	for range n {
		id, found := l.claim()
		if !found {
			continue
		}
		if err := l.delete(p, id); err != nil || !l.snapshot()[id].gone {
			t.Errorf("%d could not be deleted: %v", id, err)
			return
		}
	}
}

// writeFromOutside is another program: it creates two users and deletes one of them, again and again.
func writeFromOutside(other *program.Other, l *ledger, n int) {
	const insert = "INSERT INTO users (name, email) VALUES ('o', '%s-%d') RETURNING id"
	for i := range n {
		id, _ := strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "stays", i)), 10, 64)
		l.created(id, fmt.Sprint("stays-", i))

		id, _ = strconv.ParseInt(other.Ask(fmt.Sprintf(insert, "goes", i)), 10, 64)
		l.deleting(id)
		other.Do(fmt.Sprintf("DELETE FROM users WHERE id = %d", id))
		l.deleted(id)
	}
}

// listOnce compares one list with what was known before it was asked for.
func listOnce(t *testing.T, p *program.Program, l *ledger) bool {
	before := l.snapshot()
	answer, err := p.Send("GET", "/api/users", "")
	if err == nil {
		err = l.check(answer.Users(t), before)
	}
	if err != nil {
		t.Error(err)
	}
	return err == nil
}
