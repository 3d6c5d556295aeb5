package follow

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// A client that has read the newest change waits, although another one has just read an older cursor: otherwise it would ask
// again and again.
func TestAClientWaitsAlthoughAnOlderCursorWasJustRead(t *testing.T) {
	t.Parallel()
	newest := "1"
	feed := New(func(context.Context) (string, error) { return newest, nil })
	if err := feed.Await(context.Background(), "0"); err != nil {
		t.Fatal(err)
	}
	newest = "2"
	limited, cancel := context.WithTimeout(context.Background(), 4*every)
	defer cancel()
	if err := feed.Await(limited, "2"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait: %v", err)
	}
}

func TestAClientsWaitEndsAlthoughStorageDoesNotAnswerAnother(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	feed := New(func(ctx context.Context) (string, error) {
		asked <- struct{}{}
		<-ctx.Done() // as a server that was paused
		return "", ctx.Err()
	})
	other, release := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer release()
	wait.Go(func() { _ = feed.Await(other, "1") })
	<-asked
	limited, cancel := context.WithTimeout(context.Background(), every)
	defer cancel()
	ended := make(chan error, 1)
	wait.Go(func() { ended <- feed.Await(limited, "1") })
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the other client")
	}
}
