package listcache

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// What slow readers hold is bounded: then others get a list that is not kept.
func TestListsThatAreBeingReadAreBounded(t *testing.T) {
	t.Parallel()
	users, cache := open(300)
	release := make(chan struct{})
	var wait sync.WaitGroup
	held := 0
	for i := range int64(10) {
		users.put(i+1, "a name")
		got := make(chan string)
		wait.Go(func() {
			_ = cache.List(ctx, func(list models.List) error {
				got <- list.Version
				<-release
				return nil
			}, paged(nil))
		})
		if <-got == "" {
			break
		}
		held++
		users.remove(i + 1)
	}
	if held < 3 || held == 10 {
		t.Errorf("%d lists of 60 bytes are kept where 300 bytes may be", held)
	}
	close(release)
	wait.Wait()
	if _, version := ask(t, users, cache); version == "" {
		t.Error("no list is kept after all were released")
	}
}

func TestAListThatHasBecomeSmallIsKeptAgain(t *testing.T) {
	t.Parallel()
	users, cache := open(1000)
	expect := func(when string, kept bool) {
		t.Helper()
		if _, version := ask(t, users, cache); (version != "") != kept {
			t.Errorf("%s the list has the version %q", when, version)
		}
	}
	for i := range int64(20) {
		users.put(i+1, "a name")
	}
	expect("with more than 1,000 bytes", false)
	for id := range int64(15) {
		users.remove(id + 1)
	}
	expect("when it is read while it is sent and found to be small,", false)
	expect("when it is known to be small,", true)
	for i := range int64(20) {
		users.put(i+100, "a name")
	}
	expect("when it has become too large again,", false)
}

func TestWhileTheSourceCannotTellNothingIsKept(t *testing.T) {
	t.Parallel()
	users, cache := open(1000)
	users.put(1, "a")
	for _, before := range []string{"nothing", "a list"} {
		users.unknown = ErrNotCached
		if text, version := ask(t, users, cache); version != "" || text != users.text() {
			t.Errorf("after %s was kept: got %q with the version %q", before, text, version)
		}
		if page, err := cache.Page(ctx, models.Query{Limit: 1}); page != nil || err != nil {
			t.Errorf("after %s was kept: got the page %v, %v", before, page, err)
		}
		users.unknown = nil
		if _, version := ask(t, users, cache); version == "" {
			t.Error("no list is kept afterwards")
		}
	}
}

func TestOnlyThePiecesThatHaveChangedAreReadAgain(t *testing.T) {
	t.Parallel()
	users, cache := open(16 << 20)
	for id := range int64(5000) {
		users.put(id+1, "before")
	}
	users.others(func() {})
	ask(t, users, cache)
	for _, step := range []struct {
		name  string
		write func()
		again []int64 // segments
		read  int     // users
	}{
		{"a creation", func() { users.put(5001, "new") }, []int64{9}, 1},
		{"a change", func() { users.put(17, "new") }, []int64{0}, 1},
		{"a deletion", func() { users.remove(2048) }, []int64{4}, 0},
		{"a change of the last of a segment", func() { users.put(511, "new") }, []int64{0}, 1},
		{"a change of the first of a segment", func() { users.put(512, "new") }, []int64{1}, 1},
		{"two changes in a segment", func() { users.put(700, "new"); users.put(600, "new") }, []int64{1}, 101},
		{"three writes", func() { users.remove(1); users.put(2047, "new"); users.put(5002, "new") }, []int64{0, 3, 9}, 2},
		{"nothing", func() {}, nil, 0},
	} {
		users.again, users.read = nil, 0
		step.write()
		if text, _ := ask(t, users, cache); text != users.text() {
			t.Errorf("after %s the list differs", step.name)
		}
		if !slices.Equal(users.again, step.again) {
			t.Errorf("after %s the segments %v were read again, want %v", step.name, users.again, step.again)
		}
		if users.read != step.read {
			t.Errorf("after %s %d users were read, want %d", step.name, users.read, step.read)
		}
	}
	if users.readAll != 1 {
		t.Errorf("everything was read %d times", users.readAll)
	}
}

// What has changed is told once. A reading that fails midway has been told, so that the list is read as a whole next time.
func TestAfterAFailedReadingTheListIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"a changed segment", "the whole list"} {
		users, cache := open(1 << 20)
		for id := range int64(1500) {
			users.put(id+1, "before")
		}
		ask(t, users, cache)
		if users.put(700, "after"); lost == "the whole list" {
			users.others(func() {})
		}
		users.breaks = errors.New("the disk failed")
		err := cache.List(ctx, func(models.List) error { return nil }, paged(nil))
		if !errors.Is(err, users.breaks) {
			t.Errorf("%s could not be read, and the error is %v", lost, err)
		}
		users.breaks = nil
		if text, _ := ask(t, users, cache); text != users.text() {
			t.Errorf("after %s could not be read the list is stale", lost)
		}
	}
}

func TestMoreChangesThanAreRememberedAreAnything(t *testing.T) {
	var changes Changes
	for id := range int64(MaxChanges) {
		changes.Add(id)
	}
	if changes.Anything() || len(changes.ids) != MaxChanges {
		t.Errorf("%d changes are remembered, anything: %t", len(changes.ids), changes.Anything())
	}
	if changes.Add(0); !changes.Anything() || changes.ids != nil {
		t.Error("one more is remembered too")
	}
	if taken := changes.Take(); !taken.Anything() || changes.Anything() {
		t.Error("what was taken was not forgotten")
	}
}

// Whatever is written, the list is what the table holds, and one that somebody still reads does not change.
func TestTheListIsTheTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		users, cache := open(rapid.SampledFrom([]int{0, 2000, 1 << 20}).Draw(r, "bytes"))
		versions := map[string]string{}
		write := func(r *rapid.T) {
			id := rapid.Int64Range(1, 5000).Draw(r, "id")
			name := rapid.SampledFrom([]string{"", "short", fmt.Sprintf("%01000d", 0)}).Draw(r, "name")
			rapid.SampledFrom([]func(){
				func() { users.put(id, name) }, func() { users.remove(id) }, func() { users.others(func() { users.put(id, name) }) },
			}).Draw(r, "write")()
		}
		look := func(r *rapid.T, during func()) {
			want, text := users.text(), ""
			_ = cache.List(ctx, func(list models.List) error {
				during()
				for segment := range list.Chunks {
					text += string(segment)
				}
				if other, found := versions[list.Version]; found && list.Version != "" && other != text {
					r.Fatalf("two lists have the version %s", list.Version)
				}
				versions[list.Version] = text
				return nil
			}, paged(slices.Clone(users.users)))
			if text != want {
				r.Fatalf("the list is %.1000s, and the table %.1000s", text, want)
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"write": write,
			"look":  func(r *rapid.T) { look(r, func() {}) },
			"look twice": func(r *rapid.T) {
				look(r, func() { write(r); look(r, func() { write(r) }) })
			},
		})
	})
}

// The end of the array comes with the last users: alone it would be a write and a packet of its own.
func TestTheEndOfTheArrayComesWithTheLastUsers(t *testing.T) {
	t.Parallel()
	for _, last := range []int64{0, 1, 512, 1500} {
		users, cache := open(1 << 20)
		for id := range last {
			users.put(id+1, "a name")
		}
		var chunks []string
		err := cache.List(ctx, func(list models.List) error {
			for chunk := range list.Chunks {
				chunks = append(chunks, string(chunk))
			}
			return nil
		}, paged(nil))
		if end := chunks[len(chunks)-1]; err != nil || len(end) < 2 || end[len(end)-1] != ']' {
			t.Errorf("of %d users the last chunk is %q, %v", last, end, err)
		}
	}
}
