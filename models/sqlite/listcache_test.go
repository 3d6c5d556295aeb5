package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/models"
	"users-api/models/listcache"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// fill creates n users with the ids 1 to n.
func fill(t testing.TB, users *Users, n int) {
	t.Helper()
	sqlitetest.Run(t, otherProgram(t, users), fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) "+
		"INSERT INTO users (name, email) SELECT 'User ' || i, 'user' || i || '@example.org' FROM n", n))
}

// watched is the source of the list of an engine, and notes what is read from it.
type watched struct {
	*listSource
	ranges  []int64 // the lowest ids that belong to what was read again
	all     int     // how often everything was read
	reading func()  // is called when the first user of all was read
}

func (w *watched) Range(from, to int64) iter.Seq2[models.User, error] {
	w.ranges = append(w.ranges, to-to%512)
	return w.listSource.Range(from, to)
}

func (w *watched) All() iter.Seq2[models.User, error] {
	w.all++
	return func(yield func(models.User, error) bool) {
		for user, err := range w.listSource.All() {
			if w.reading != nil {
				w.reading()
				w.reading = nil
			}
			if !yield(user, err) {
				return
			}
		}
	}
}

// watch replaces the list cache of an engine by one whose source is watched.
func watch(users *Users) *watched {
	source := &watched{listSource: users.source}
	users.cache = listcache.New(source, storetest.Fields(), 16<<20)
	return source
}

func TestOnlyThePiecesThatOurWritesTouchAreReadAgain(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	source := watch(users)
	fill(t, users, 5000)
	storetest.Text(t, users)
	name, never := "n", "user2000@example.org"
	for _, step := range []struct {
		name  string
		write func() error
		again []int64
	}{
		{"a creation", func() error { storetest.Create(t, users, "new"); return nil }, []int64{4608}},
		{"a change", func() error { _, err := users.Change(ctx, 17, storetest.Values("name", name), nil); return err }, []int64{0}},
		{"a deletion", func() error { return users.Delete(ctx, 2048, nil) }, []int64{2048}},
		{"three writes", func() error {
			storetest.Create(t, users, "newer")
			_, err := users.Change(ctx, 2047, storetest.Values("name", name), nil)
			return errors.Join(err, users.Delete(ctx, 1, nil))
		}, []int64{0, 1536, 4608}},
		{"a deletion of no user", func() error { return expectError(users.Delete(ctx, 1, nil)) }, nil},
		{"a creation that is refused", func() error {
			_, err := users.Create(ctx, models.NewUser{Name: "n", Email: "new"})
			return expectError(err)
		}, nil},
		{"a change that is refused", func() error {
			_, err := users.Change(ctx, 3, storetest.Values("email", never), nil)
			return expectError(err)
		}, nil},
		{"a change that a condition refuses", func() error {
			_, err := users.Change(ctx, 3, storetest.Values("name", name), func(models.User) error { return errors.New("no") })
			return expectError(err)
		}, nil},
	} {
		source.ranges = nil
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		expectWhole(t, users)
		if !slices.Equal(source.ranges, step.again) || source.all != 1 {
			t.Errorf("after %s what begins at %v was read again, want %v; everything %d times", step.name, source.ranges,
				step.again, source.all)
		}
	}
}

func expectError(err error) error {
	if err == nil {
		return errors.New("it was not refused")
	}
	return nil
}

// expectWhole compares the cached list with what the file holds.
func expectWhole(t *testing.T, users *Users) {
	t.Helper()
	list, _ := storetest.Text(t, users)
	var whole []byte
	for piece, err := range users.fields.NewArray(0).Chunks(users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, piece...)
	}
	if list != string(whole) {
		t.Errorf("the list has %d bytes, and the file %d", len(list), len(whole))
	}
}

func TestAListIsReadAsAWholeWhenAnotherProgramHasWritten(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	source := watch(users)
	fill(t, users, 5000)
	storetest.Create(t, users, "first") // so that the writer knows the table
	storetest.Text(t, users)
	sqlitetest.Run(t, otherProgram(t, users), "UPDATE users SET name = 'changed' WHERE id = 4000")
	expectWhole(t, users)
	if source.all != 2 || source.ranges != nil {
		t.Errorf("everything was read %d times, and what begins at %v", source.all, source.ranges)
	}
}

// A page from memory is asked for right after each commit of another program, which it must show.
func TestAPageShowsWhatAnotherProgramHasCommitted(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	fill(t, users, 5)
	query := models.Query{Limit: 3, Descending: true}
	for _, statement := range []string{
		"UPDATE users SET name = 'changed' WHERE id = 5", "DELETE FROM users WHERE id = 4",
		"INSERT INTO users (name, email) VALUES ('new', 'new')", "ALTER TABLE users RENAME COLUMN name TO other",
	} {
		storetest.Text(t, users)
		if page, err := users.Page(ctx, query); page == nil || err != nil {
			t.Fatalf("before %s the page is not in memory, %v", statement, err)
		}
		sqlitetest.Run(t, other, statement)
		for range 2 {
			if page, err := users.Page(ctx, query); page != nil || err != nil {
				t.Errorf("after %s a page is in memory: %t, %v", statement, page != nil, err)
			}
		}
	}
}

// Another program's commit between the list cache's two questions to the writer is not forgotten.
func TestACommitWhileAReadBeginsIsToldTheNextTimeToo(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	storetest.Create(t, users, "ours")
	for range 2 {
		if _, err := users.writer.beginSnapshot(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	since, err := users.writer.beginSnapshot(func() error {
		sqlitetest.Run(t, other, "INSERT INTO users (name, email) VALUES ('o', 'o')")
		return nil
	})
	if err != nil || !since.Anything() {
		t.Errorf("a commit during the beginning: %+v, %v", since, err)
	}
	if since, err = users.writer.beginSnapshot(func() error { return nil }); err != nil || !since.Anything() {
		t.Errorf("the next time: %+v, %v", since, err)
	}
	if since, err = users.writer.beginSnapshot(func() error { return nil }); err != nil || !reflect.DeepEqual(since, listcache.Changes{}) {
		t.Errorf("when nothing was written: %+v, %v", since, err)
	}
}

// A commit that waits for another program's lock does not hold up the list.
func TestAListIsReadBesideAWriteThatWaits(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	other := otherProgram(t, users)
	storetest.Create(t, users, "ours")
	storetest.Text(t, users)
	sqlitetest.Run(t, other, "INSERT INTO users (name, email) VALUES ('o', 'o')", "BEGIN IMMEDIATE")
	var wait sync.WaitGroup
	wait.Go(func() { storetest.Create(t, users, "waits") })
	for len(users.writer.underWay) == 0 {
		runtime.Gosched()
	}
	if text, version := storetest.Text(t, users); !strings.Contains(text, `"o"`) || version == "" {
		t.Errorf("the list is %s", text)
	}
	sqlitetest.Run(t, other, "COMMIT")
	wait.Wait()
	expectWhole(t, users)
}

// A trigger may change users that no request named. Another program may add it while we serve.
func TestATriggerThatIsAddedLaterIsMinded(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 1<<20)
	storetest.Create(t, users, "first")
	sqlitetest.Run(t, otherProgram(t, users),
		"CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET name = 'changed' WHERE id = 1; END")
	storetest.Text(t, users)
	storetest.Create(t, users, "second")
	if text, _ := storetest.Text(t, users); !strings.Contains(text, `"changed"`) {
		t.Errorf("the list is %s", text)
	}
}
