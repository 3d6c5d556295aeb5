package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/storetest"
)

// What slow readers hold is bounded: then others get a list that is not kept.
func TestListsThatAreBeingReadAreBounded(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 300)
	release := make(chan struct{})
	var wait sync.WaitGroup
	held := 0
	for i := range 10 {
		storetest.Create(t, users, fmt.Sprint(i))
		got := make(chan string)
		wait.Go(func() {
			_ = users.List(ctx, func(list models.List) error {
				got <- list.Version
				<-release
				return nil
			})
		})
		if <-got == "" {
			break
		}
		held++
		if err := users.Delete(ctx, int64(i+1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if held < 3 || held == 10 {
		t.Errorf("%d lists of 70 bytes are kept where 300 bytes may be", held)
	}
	close(release)
	wait.Wait()
	if kept(t, users) == nil {
		t.Error("no list is kept after all were released")
	}
}

func TestAListThatHasBecomeSmallIsKeptAgain(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1000)
	for i := range 20 {
		storetest.Create(t, users, fmt.Sprint(i))
	}
	if kept(t, users) != nil {
		t.Error("a list of more than 1,000 bytes is kept")
	}
	for id := range int64(15) {
		if err := users.Delete(ctx, id+1, nil); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Text(t, users) // is read while it is sent, and found to be small
	if kept(t, users) == nil {
		t.Error("a small list is not kept")
	}
	for i := range 20 {
		storetest.Create(t, users, fmt.Sprint("more", i))
	}
	if kept(t, users) != nil {
		t.Error("a list that has become too large is kept")
	}
}

// A round shows what was committed before it began. Nobody who asks later is answered by it.
func TestAListAskedForDuringARoundIsOfTheNext(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	began, goOn := make(chan struct{}), make(chan struct{})
	look := users.keeper.look
	users.keeper.look = func() (*list, error) {
		l, err := look()
		began <- struct{}{} // the look was taken
		<-goOn
		return l, err
	}
	var wait sync.WaitGroup
	wait.Go(func() { storetest.Text(t, users) })
	<-began
	storetest.Create(t, users, "after the look")
	wait.Go(func() {
		if text, _ := storetest.Text(t, users); !strings.Contains(text, "after the look") {
			t.Errorf("the list is %s", text)
		}
	})
	for asked := false; !asked; runtime.Gosched() {
		users.keeper.mu.Lock()
		asked = users.keeper.next != nil
		users.keeper.mu.Unlock()
	}
	goOn <- struct{}{}
	<-began
	goOn <- struct{}{}
	wait.Wait()
}

func TestAnAskerThatGoesAwayReleasesItsList(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	storetest.Create(t, users, "a")
	users.keeper.looking.Lock() // a round is under way, so that the next is waited for
	first := make(chan *list)
	go func() {
		l, _ := users.keeper.get(ctx)
		first <- l
	}()
	for asked := false; !asked; runtime.Gosched() {
		users.keeper.mu.Lock()
		asked = users.keeper.next != nil
		users.keeper.mu.Unlock()
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := users.keeper.get(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("an asker that went away got %v", err)
	}
	users.keeper.looking.Unlock()
	l := <-first
	for l.readers.Load() != 1 {
		runtime.Gosched() // until the one that left has released it
	}
	l.release()
}

func TestAListWithoutChangesIsReleasedToo(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	storetest.Create(t, users, "a")
	for range 3 {
		_ = users.List(ctx, func(models.List) error { return errors.New("not wanted") })
	}
	if readers := kept(t, users).readers.Load(); readers != 0 {
		t.Errorf("%d readers hold a list that nobody reads", readers)
	}
}
