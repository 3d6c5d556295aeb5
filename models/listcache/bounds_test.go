package listcache

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"users-api/models"
)

// A list and its index may take exactly as many bytes as are asked for, however it was made, and no byte more.
func TestAListIsKeptUpToItsLastByte(t *testing.T) {
	t.Parallel()
	users := &table{}
	users.put(1, "one")
	users.put(2, "two")
	users.put(3, "three")
	size := len(users.text()) + 3*indexBytes
	for _, c := range []struct {
		name     string
		maxBytes int
		kept     bool
	}{{"as large as may be", size, true}, {"a byte larger than may be", size - 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			cache := New(users, models.NewFields(), c.maxBytes)
			expect := func(how string, kept bool) {
				t.Helper()
				if _, version := ask(t, users, cache); (version != "") != kept {
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
			expect("patched", c.kept)
		})
	}
}

// The lists that slow readers have may together be exactly as large as the one that is kept.
func TestSlowReadersMayHoldAsMuchAsIsKept(t *testing.T) {
	t.Parallel()
	users, cache := open(0)
	users.put(1, "a name")
	segment := len(users.text()) - len("[") + indexBytes
	cache.maxBytes = 2 * segment
	release := make(chan struct{})
	var wait sync.WaitGroup
	for i, kept := range []bool{true, true, true, false} {
		users.put(1, "name "+string(rune('a'+i))) // each list has a segment of its own
		got := make(chan string)
		wait.Go(func() {
			_ = cache.List(ctx, func(list models.List) error {
				got <- list.Version
				<-release
				return nil
			}, paged(nil))
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
	users, cache := open(10)
	users.put(1, "a long name")
	for range 3 { // HEAD asks for no segment
		if err := cache.List(ctx, func(models.List) error { return nil }, paged(nil)); err != nil {
			t.Error(err)
		}
	}
	if users.readAll != 1 {
		t.Errorf("it was read %d times to be cached", users.readAll)
	}
}

// A segment of long names can be larger than all memory: it is given up as soon as it is too large, however it is read.
func TestAListThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for name, begin := range map[string]func(*table){
		"the first list":                         func(*table) {},
		"a segment with users added behind it":   func(users *table) { users.put(1, "short") },
		"a segment in which a user was changed":  func(users *table) { users.put(500, "short") },
		"a segment beside one that is unchanged": func(users *table) { users.put(1000, long) },
	} {
		users, cache := open(3500)
		if begin(users); len(users.users) > 0 {
			ask(t, users, cache)
		}
		for id := range int64(400) {
			users.put(id+2, long)
		}
		users.read = 0
		if _, version := ask(t, users, cache); version != "" || users.read == 0 || users.read > 4 {
			t.Errorf("%s: %d users were read for a list of 3 with the version %q", name, users.read, version)
		}
	}
}

// What is added behind kept users counts with them, and with what other segments have grown to.
func TestPiecesGrowTogetherNoLargerThanTheList(t *testing.T) {
	t.Parallel()
	users, cache := open(2450)
	users.put(1, "short")
	users.put(600, strings.Repeat("x", 1500))
	if _, version := ask(t, users, cache); version == "" {
		t.Fatal("the list is not kept")
	}
	users.put(1, strings.Repeat("x", 900))
	users.remove(700) // the second segment is only looked at for users behind its last
	if _, version := ask(t, users, cache); version != "" {
		t.Errorf("a list of %d bytes has the version %s", len(users.text()), version)
	}
}

// Lists share the segments in which nothing has changed: slow readers of many versions hold those once.
func TestPiecesThatListsShareAreHeldOnce(t *testing.T) {
	t.Parallel()
	users, cache := open(0)
	for id := range int64(2048) {
		users.put(id+1, "a name")
	}
	cache.maxBytes = 2 * len(users.text())
	release := make(chan struct{})
	var wait sync.WaitGroup
	defer wait.Wait()
	defer close(release)
	for i := range 4 { // the unchanged segments alone, counted 4 times, are larger than may be held
		users.put(2047, fmt.Sprint("name ", i))
		got := make(chan string)
		wait.Go(func() {
			_ = cache.List(ctx, func(list models.List) error {
				got <- list.Version
				<-release
				return nil
			}, paged(nil))
		})
		if <-got == "" {
			t.Fatalf("list %d is not kept", i)
		}
	}
}

// The memory of a list is its bytes, however few users its segments have: LIST_MEMORY_MIB would mean nothing otherwise.
func TestSparsePiecesTakeNoMoreMemoryThanTheirUsers(t *testing.T) {
	const segments = 1000
	users, cache := open(1 << 20)
	for i := range int64(segments) {
		users.users = append(users.users, models.User{ID: i << idBits, NewUser: models.NewUser{Name: "a name"}})
	}
	before := heap()
	ask(t, users, cache)
	if taken := int64(heap()) - int64(before); cache.current == nil || taken > segments*segmentRoom/8 {
		t.Errorf("a list of %d bytes takes %d", len(users.text()), taken)
	}
	runtime.KeepAlive(cache)
}

// heap returns how many bytes are in use.
func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
