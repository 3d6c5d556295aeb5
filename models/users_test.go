package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm/schema"
)

func open(t testing.TB, listMemory int) *Users {
	t.Helper()
	users, err := Open(filepath.Join(t.TempDir(), "data", "users.db"), listMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close() })
	return users
}

func create(t testing.TB, users *Users, email string) int64 {
	t.Helper()
	id, err := users.Create(context.Background(), NewUser{Name: "n", Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The statements that are written out must name what the model defines.
func TestTheWrittenStatementsNameTheModelsTableAndColumns(t *testing.T) {
	model, err := schema.Parse(&User{}, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	columns := strings.Join(model.DBNames, ", ")
	if columns != "id, name, email, created_at" || model.Table != "users" {
		t.Errorf("the model is %s (%s)", model.Table, columns)
	}
	want := fmt.Sprintf("INSERT INTO %s (%s)", model.Table, strings.Join(model.DBNames[1:], ", "))
	if !strings.HasPrefix(insertUser, want) || !strings.HasPrefix(deleteUser, "DELETE FROM "+model.Table+" WHERE "+model.DBNames[0]) {
		t.Errorf("the statements are %s and %s", insertUser, deleteUser)
	}
}

// The version of SQLite matters: those before 3.51.3 can corrupt a database when its -wal file is reset.
func TestSQLiteIsNewEnough(t *testing.T) {
	var version string
	if err := open(t, 0).db.Raw("SELECT sqlite_version()").Scan(&version).Error; err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s", version)
	}
}

func TestEveryConnectionIsDurableAndTakesTheWriteLockAtOnce(t *testing.T) {
	source := dataSource("/tmp/x y?#%.db")
	for _, part := range []string{"file:///tmp/x%20y%3F%23%25.db?", "synchronous%28FULL%29", "journal_mode%28WAL%29", "_txlock=immediate"} {
		if !strings.Contains(source, part) {
			t.Errorf("%s is not in %s", part, source)
		}
	}
}

func TestAClosedDatabaseSaysSo(t *testing.T) {
	users := open(t, 1<<20)
	if err := users.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Create(context.Background(), NewUser{"n", "e"}); !errors.Is(err, ErrClosed) {
		t.Errorf("creating: %v", err)
	}
	if err := users.Delete(context.Background(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("deleting: %v", err)
	}
	if _, err := users.List(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("listing: %v", err)
	}
	for _, err := range users.Stream(context.Background()) {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("streaming: %v", err)
		}
	}
}

// A full queue makes a write wait, and its context ends the waiting; what was taken is done.
func TestTheContextOfAWriteEndsItsWaitForAFullQueue(t *testing.T) {
	users := open(t, 0)
	lock, err := pin(users.db)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close() //nolint:errcheck // the pool closes it
	if _, err := lock.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var stored atomic.Int64
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	for i := range 3 * maxBatch {
		wait.Go(func() {
			_, err := users.Create(ctx, NewUser{"n", fmt.Sprint(i)})
			switch {
			case err == nil:
				stored.Add(1)
			case !errors.Is(err, context.Canceled):
				t.Error(err)
			}
		})
	}
	for len(users.committer.queue) < maxBatch {
		runtime.Gosched() // until it is full, with one batch waiting for the lock
	}
	cancel()
	if _, err := lock.ExecContext(context.Background(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if n := stored.Load(); n < maxBatch || n > 2*maxBatch+1 {
		t.Errorf("%d writes were stored, with a queue of %d", n, maxBatch)
	}
}

// A list that readers hold is never changed, and what they hold is bounded: then others get no kept list.
func TestListsThatAreBeingReadAreBoundedAndNeverChanged(t *testing.T) {
	users := open(t, 300)
	var held []*List
	for i := range 10 {
		create(t, users, fmt.Sprintf("%d@example.org", i%2))
		list, err := users.List(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if list == nil {
			break
		}
		held = append(held, list)
		if err := users.Delete(context.Background(), int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if len(held) < 3 || len(held) == 10 {
		t.Errorf("%d lists of 70 bytes are kept where 300 bytes may be", len(held))
	}
	for i, list := range held {
		if want := fmt.Sprintf(`[{"id":%d,`, i+1); !strings.HasPrefix(string(list.Chunks()[0]), want) {
			t.Errorf("list %d has become %s", i, list.Chunks())
		}
		list.Release()
	}
	if list, err := users.List(context.Background()); list == nil || err != nil {
		t.Errorf("after all were released: %v, %v", list, err)
	}
}

// text returns the list, kept or streamed, as one text.
func text(t testing.TB, users *Users) string {
	t.Helper()
	list, err := users.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer list.Release()
	whole := string(bytes.Join(list.Chunks(), nil))
	if sum := sha256.Sum256([]byte(whole)); len(whole) != list.Length() || hex.EncodeToString(sum[:16]) != list.Version() {
		t.Errorf("a list of %d bytes says that it has %d, and the version %s", len(whole), list.Length(), list.Version())
	}
	return whole
}

func streamed(t testing.TB, users *Users) string {
	t.Helper()
	var whole []byte
	for piece, err := range users.Stream(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, piece...)
	}
	return string(whole)
}

// Whatever we and other programs do, the list that is kept and extended is the list that the file holds.
func TestTheKeptListIsWhatTheFileHolds(t *testing.T) {
	users := open(t, 1<<20)
	other, err := pin(users.db) // a connection that the committer does not know
	if err != nil {
		t.Fatal(err)
	}
	foreign := func(statement string) {
		if _, err := other.ExecContext(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	steps := []func(i int){
		func(i int) { create(t, users, fmt.Sprint("ours ", i)) },
		func(i int) { create(t, users, fmt.Sprint("ours ", i)); create(t, users, fmt.Sprint("and ", i)) },
		func(i int) { _, _ = users.Create(context.Background(), NewUser{"n", "twice"}) },
		func(i int) { _ = users.Delete(context.Background(), int64(i/3)) },
		func(i int) { foreign(fmt.Sprintf("INSERT INTO users (name, email) VALUES ('o', 'other %d')", i)) },
		func(i int) {
			foreign(fmt.Sprintf("UPDATE users SET name = 'changed %d' WHERE id = (SELECT min(id) FROM users)", i))
		},
		func(i int) { foreign("DELETE FROM users WHERE id = (SELECT max(id) FROM users)") },
		func(i int) {
			foreign("CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON users BEGIN UPDATE users SET name = new.email WHERE id = (SELECT min(id) FROM users); END")
		},
		func(i int) { foreign("DROP TRIGGER IF EXISTS r") },
		func(i int) {
			foreign("INSERT INTO users (id, name, email) SELECT min(id) - 1, 'low', 'low ' || min(id) FROM users")
		},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		step := 0 // half of the steps extend the list
		if random.IntN(2) == 0 {
			step = random.IntN(len(steps))
		}
		steps[step](i)
		if random.IntN(3) == 0 {
			continue // two steps between two lists
		}
		if kept, held := text(t, users), streamed(t, users); kept != held {
			t.Fatalf("after step %d, of kind %d, the list is\n%s\nand the file holds\n%s", i, step, kept, held)
		}
	}
}

func TestAListIsExtendedWhenOnlyWeHaveCreatedUsers(t *testing.T) {
	users := benchmarkUsers(t, 5000)
	first := func() *byte {
		list, err := users.List(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer list.Release()
		return &list.Chunks()[0][0]
	}
	before := first()
	create(t, users, "ours")
	if first() != before {
		t.Error("a creation of ours made the list be read anew")
	}
	if err := users.Delete(context.Background(), 17); err != nil {
		t.Fatal(err)
	}
	if first() == before {
		t.Error("a deletion of ours did not")
	}
}

// A look sees what was committed before it began. Who asks later must not be answered by it.
func TestAListAskedForDuringALookIsOfTheNextLook(t *testing.T) {
	users := benchmarkUsers(t, 50_000) // reading them takes longer than all that follows
	underWay := make(chan *List)
	go func() {
		list, _ := users.List(context.Background())
		underWay <- list
	}()
	for began := false; !began; runtime.Gosched() {
		users.keeper.mu.Lock()
		held := !users.keeper.turn.TryLock()
		began = held && users.keeper.next == nil
		if !held {
			users.keeper.turn.Unlock()
		}
		users.keeper.mu.Unlock()
	}
	for len(users.committer.turn) > 0 {
		runtime.Gosched() // until its transaction has begun, which takes the committer's turn
	}
	create(t, users, "after the look began")
	if kept := text(t, users); !strings.Contains(kept, "after the look began") {
		t.Error("the list misses a user that was created before it was asked for")
	}
	(<-underWay).Release()
}

func TestAnAskerThatGoesAwayReleasesItsList(t *testing.T) {
	users := open(t, 1<<20)
	create(t, users, "a")
	users.keeper.turn.Lock() // a look is under way, so that the next is waited for
	first := make(chan *List)
	go func() {
		list, _ := users.List(context.Background())
		first <- list
	}()
	for asked := false; !asked; runtime.Gosched() {
		users.keeper.mu.Lock()
		asked = users.keeper.next != nil
		users.keeper.mu.Unlock()
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := users.List(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("an asker that went away got %v", err)
	}
	users.keeper.turn.Unlock()
	list := <-first
	for list.readers.Load() != 1 {
		runtime.Gosched() // until the one that left has released it
	}
	list.Release()
}

func BenchmarkCreateAlone(b *testing.B) {
	users := open(b, 0)
	for i := 0; b.Loop(); i++ {
		create(b, users, fmt.Sprint(i))
	}
}

func BenchmarkCreateTogether(b *testing.B) {
	users := open(b, 0)
	var next atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			create(b, users, fmt.Sprint(next.Add(1)))
		}
	})
}

// benchmarkUsers opens a database with n users.
func benchmarkUsers(b testing.TB, n int) *Users {
	users := open(b, 64<<20)
	err := users.db.Exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?) "+
		"INSERT INTO users (name, email) SELECT 'User ' || i, 'user' || i || '@example.org' FROM n", n).Error
	if err != nil {
		b.Fatal(err)
	}
	return users
}

func BenchmarkListUnchanged(b *testing.B) {
	users := benchmarkUsers(b, 1000)
	for b.Loop() {
		list, err := users.List(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		list.Release()
	}
}

func BenchmarkListReadAnew(b *testing.B) {
	users := benchmarkUsers(b, 1000)
	for b.Loop() {
		if _, err := users.keeper.rebuild(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListExtended(b *testing.B) {
	users := benchmarkUsers(b, 1000)
	_ = text(b, users)
	for b.Loop() {
		if _, err := users.keeper.rebuild(users.keeper.current); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	users := benchmarkUsers(b, 10_000)
	for b.Loop() {
		for _, err := range users.Stream(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
