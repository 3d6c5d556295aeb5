package follow

import (
	"context"
	"errors"
	"testing"
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
