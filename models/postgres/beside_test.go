//go:build postgres

package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
)

// keepWriting creates, changes and deletes users, reads them and lists them, until it is told to stop. It returns how many times
// it has done that, and how long one call took at most.
func keepWriting(t *testing.T, users *Users, name string, stop <-chan struct{}) (rounds int, longest time.Duration) {
	t.Helper()
	for ; ; rounds++ {
		select {
		case <-stop:
			return rounds, longest
		default:
		}
		var id int64
		for _, call := range []func() error{
			func() (err error) {
				id, err = users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(name, "-", rounds)})
				return err
			},
			func() error { _, err := users.Change(ctx, id, storetest.Values("name", "changed"), nil); return err },
			func() error { _, err := users.Get(ctx, id); return err },
			func() error {
				return users.List(ctx, func(list models.List) error { _, err := join(list); return err })
			},
			func() error { return users.Delete(ctx, id, nil) },
		} {
			begun := time.Now()
			if err := call(); err != nil {
				t.Errorf("%s, round %d: %v", name, rounds, err)
			}
			longest = max(longest, time.Since(begun))
		}
	}
}

// join reads a list to its end.
func join(list models.List) (bytes int, err error) {
	for piece, err := range list.Chunks {
		if err != nil {
			return bytes, err
		}
		bytes += len(piece)
	}
	return bytes, nil
}

// besideWriters runs a change of the schema while two processes write, and returns how long a write took at most.
func besideWriters(t *testing.T, url string, change func()) (longest time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	var mu sync.Mutex
	var wait sync.WaitGroup
	end := sync.OnceFunc(func() { close(stop); wait.Wait() })
	defer end() // also if the change ends the test
	for process := range 2 {
		users := openUsers(t, url)
		for client := range 4 {
			wait.Go(func() {
				rounds, took := keepWriting(t, users, fmt.Sprint(process, client), stop)
				mu.Lock()
				defer mu.Unlock()
				if longest = max(longest, took); rounds == 0 {
					t.Error("no round was done")
				}
			})
		}
	}
	change()
	end()
	return longest
}
