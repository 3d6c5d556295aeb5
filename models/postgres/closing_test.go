//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// What has its place in the queue, or waits for one, is stored before the storage is closed.
func TestClosingFinishesEveryCreation(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	users := openUsers(t, url)
	unlock := lock(t, url)
	const clients = 2000 // more than two commits and the queue hold
	var stored atomic.Int64
	var wait sync.WaitGroup
	for client := range clients {
		wait.Go(func() {
			_, err := users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(client)})
			if err == nil {
				stored.Add(1)
			} else if !errors.Is(err, models.ErrClosed) {
				t.Error(err)
			}
		})
	}
	for len(users.writer.queue.Waiting()) < batch.Most {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan error)
	go func() { closed <- users.Close(ctx) }()
	for !users.database.closed.Load() {
		time.Sleep(time.Millisecond)
	}
	unlock()
	wait.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n, err := openUsers(t, url).Count(ctx, models.Query{}); n != stored.Load() || n < batch.Most || err != nil {
		t.Errorf("%d are stored, %v, and %d were answered", n, err, stored.Load())
	}
}

// A write that waits for another program's lock is finished before the storage is closed, or broken off when that takes
// too long.
func TestClosingFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, forced := range map[string]bool{"in time": false, "forced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := postgresql.Start(t)
			url := server.NewDatabase(t)
			users := openUsers(t, url)
			id := storetest.Create(t, users, "ada")
			unlock := lock(t, url)
			name, changed := "Grace", make(chan error)
			go func() {
				_, err := users.Change(ctx, id, storetest.Values("name", name), nil)
				changed <- err
			}()
			server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
			closing, cancel := context.WithCancel(ctx)
			defer cancel()
			closed := make(chan error)
			go func() { closed <- users.Close(closing) }()
			if forced {
				cancel()
			} else {
				unlock()
			}
			if err := <-changed; (err != nil) != forced {
				t.Errorf("the write ended with %v", err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			unlock()
		})
	}
}

// At the end of its context Close returns, without the half second that a server has to answer a cancel. A busy machine may
// take that long by itself, and so it has three attempts.
func TestClosingDoesNotWaitForTheAnswerToACancel(t *testing.T) {
	t.Parallel()
	for range 3 {
		server := postgresql.Start(t)
		users := openUsers(t, server.NewDatabase(t))
		storetest.Create(t, users, "ada")
		server.Pause(t)
		listed := make(chan error, 1)
		go func() { listed <- users.List(ctx, func(models.List) error { return nil }) }()
		for users.database.pool.Stat().AcquiredConns() == 0 {
			time.Sleep(time.Millisecond)
		}
		closing, cancel := context.WithCancel(ctx)
		cancel()
		_ = users.Close(closing) // it returns nil
		late := len(listed) > 0
		<-listed
		server.Kill(t)
		if !late {
			return
		}
	}
	t.Error("each time the list was ended before the storage was closed")
}

// The service stops even if its server does not answer.
func TestClosingDoesNotWaitForAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	users := openUsers(t, server.NewDatabase(t))
	storetest.Create(t, users, "ada")
	server.Pause(t)
	counted := make(chan error)
	go func() {
		_, err := users.Count(ctx, models.Query{Contains: "a"})
		counted <- err
	}()
	for users.database.pool.Stat().AcquiredConns() == 0 {
		time.Sleep(time.Millisecond)
	}
	closing, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	start := time.Now()
	if err := users.Close(closing); err != nil {
		t.Error(err)
	}
	if err := <-counted; !errors.Is(err, models.ErrClosed) {
		t.Errorf("the search ended with %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	server.Kill(t)
}
