package models

import (
	"context"
	"errors"
	"fmt"
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

func TestAnAskerThatGoesAwayReleasesItsList(t *testing.T) {
	users := open(t, 1<<20)
	create(t, users, "a")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 100 {
		if list, err := users.List(gone); err == nil {
			list.Release()
		}
	}
	list, err := users.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer list.Release()
	for list.readers.Load() != 1 {
		runtime.Gosched() // until those that were left have released theirs
	}
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
func benchmarkUsers(b *testing.B, n int) *Users {
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

func BenchmarkListAfterACommit(b *testing.B) {
	users := benchmarkUsers(b, 1000)
	for b.Loop() {
		if _, err := users.keeper.rebuild(); err != nil {
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
