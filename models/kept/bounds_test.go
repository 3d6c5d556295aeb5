package kept

import (
	"sync"
	"testing"

	"users-api/models"
)

// A list may have exactly as many bytes as are asked for, however it was made, and no byte more.
func TestAListIsKeptUpToItsLastByte(t *testing.T) {
	t.Parallel()
	users := &table{}
	users.put(1, "one")
	users.put(2, "two")
	users.put(3, "three")
	size := len(users.text())
	for _, c := range []struct {
		name     string
		maxBytes int
		kept     bool
	}{{"as large as may be", size, true}, {"a byte larger than may be", size - 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			keeper := New(users, c.maxBytes)
			expect := func(how string, kept bool) {
				t.Helper()
				if _, version := ask(t, users, keeper); (version != "") != kept {
					t.Errorf("a list that was %s has the version %q", how, version)
				}
			}
			expect("read first", c.kept)
			users.put(4, "a long name")
			users.others(func() {})
			expect("read and is too large", false)
			users.remove(4)
			expect("found to be small while it was sent", false)
			expect("read", c.kept)
			users.put(3, "trees")
			expect("mended", c.kept)
		})
	}
}

// The lists that slow readers have may together be exactly as large as the one that is kept.
func TestSlowReadersMayHoldAsMuchAsIsKept(t *testing.T) {
	t.Parallel()
	users, keeper := open(0)
	users.put(1, "a name")
	piece := len(users.text()) - len("[")
	keeper.maxBytes = 2 * piece
	release := make(chan struct{})
	var wait sync.WaitGroup
	for i, kept := range []bool{true, true, true, false} {
		users.put(1, "name "+string(rune('a'+i))) // each list has a piece of its own
		got := make(chan string)
		wait.Go(func() {
			_ = keeper.List(ctx, func(list models.List) error {
				got <- list.Version
				<-release
				return nil
			}, each(nil))
		})
		if version := <-got; (version != "") != kept {
			t.Errorf("list %d has the version %q", i, version)
		}
	}
	close(release)
	wait.Wait()
}

// A list that is too large is not read again and again only to find that out.
func TestAListThatIsTooLargeIsReadOnlyWhileItIsSent(t *testing.T) {
	t.Parallel()
	users, keeper := open(10)
	users.put(1, "a long name")
	for range 3 { // HEAD asks for no piece
		if err := keeper.List(ctx, func(models.List) error { return nil }, each(nil)); err != nil {
			t.Error(err)
		}
	}
	if users.readAll != 1 {
		t.Errorf("it was read %d times to be kept", users.readAll)
	}
}
