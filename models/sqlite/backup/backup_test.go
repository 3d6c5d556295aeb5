package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models/sqlite"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

var ctx = context.Background()

// serve opens a database until the end of the test.
func serve(t testing.TB, path string) *sqlite.Users {
	t.Helper()
	users, err := sqlite.Open(ctx, path, storetest.Fields(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

// names returns what is in a directory.
func names(t testing.TB, directory string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestABackupHoldsWhatTheDatabaseHeldAndIsOneFile(t *testing.T) {
	path := sqlitetest.File(t,
		"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at, phone)",
		"CREATE INDEX by_name ON users (name)", "CREATE TRIGGER t AFTER INSERT ON users BEGIN SELECT 1; END",
		"CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('kept')", "PRAGMA user_version = 7",
		"INSERT INTO users VALUES (9, 'deleted', 'd', '', ''), (3, 'c', 'c', '2024-01-02', '1')",
		"DELETE FROM users WHERE id = 9")
	users := serve(t, path)
	storetest.Create(t, users, "ada@example.org")
	want, _ := storetest.Text(t, users)
	target := filepath.Join(t.TempDir(), "backup of #1?.db")
	made, err := Make(ctx, path, target, nil)
	if err != nil || made.Users != 2 {
		t.Fatalf("%+v, %v", made, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 || info.Size() != made.Bytes {
		t.Errorf("the backup is %v, %v", info, err)
	}
	if all := names(t, filepath.Dir(target)); len(all) != 1 {
		t.Errorf("beside it are %v", all)
	}
	copied := serve(t, target)
	if got, _ := storetest.Text(t, copied); got != want {
		t.Errorf("it lists %s, and not %s", got, want)
	}
	if id := storetest.Create(t, copied, "new"); id != 11 {
		t.Errorf("the next id is %d: one that was used is used again", id)
	}
	other := sqlitetest.Open(t, target)
	for query, want := range map[string]string{
		"SELECT count(*) FROM sqlite_master WHERE name IN ('by_name', 't')": "2",
		"SELECT text FROM notes": "kept", "SELECT user_version FROM pragma_user_version": "7",
	} {
		var got string
		if err := other.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v", query, got, err)
		}
	}
}

func TestABackupHoldsEveryUserThatWasStoredBeforeItBegan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	users := serve(t, path)
	var mu sync.Mutex
	stored := map[string]bool{}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				email := fmt.Sprint(w, "-", i)
				storetest.Create(t, users, email)
				mu.Lock()
				stored[email] = true
				mu.Unlock()
			}
		})
	}
	for i := range 5 {
		mu.Lock()
		before := make([]string, 0, len(stored))
		for email := range stored {
			before = append(before, email)
		}
		mu.Unlock()
		target := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if _, err := Make(ctx, path, target, nil); err != nil {
			t.Fatal(err)
		}
		text, _ := storetest.Text(t, serve(t, target))
		for _, email := range before {
			if !strings.Contains(text, `"email":"`+email+`"`) {
				t.Fatalf("backup %d has no %s", i, email)
			}
		}
	}
	close(stop)
	writers.Wait()
}

func TestABackupTellsItsProgressAndItsEnd(t *testing.T) {
	told := make(chan int64, 100)
	tell := func(done, _ int64) { told <- done }
	expect := func(want int64) {
		t.Helper()
		select {
		case got := <-told:
			for got != want && len(told) > 0 {
				got = <-told
			}
			if got != want {
				t.Fatalf("it told %d bytes and not %d", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it told nothing")
		}
	}
	path := filepath.Join(t.TempDir(), "copy")
	write := func(bytes int) {
		t.Helper()
		if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(40)
	stop := watchSize(path, 100, tell)
	expect(40)
	stop()
	expect(100)
	write(150) // SQLite may need a little more than was thought
	stop = watchSize(path, 100, tell)
	expect(100)
	stop()

	database, target := sqlitetest.Closed(t, "ada"), filepath.Join(t.TempDir(), "backup.db")
	if _, err := Make(ctx, database, target, func(done, total int64) { told <- total - done }); err != nil {
		t.Fatal(err)
	}
	expect(0)
}

// A backup that fails leaves nothing behind, and what is there as it is.
func TestABackupThatFailsLeavesNothingBehind(t *testing.T) {
	path := sqlitetest.Closed(t, "ada")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, bytes.Repeat([]byte("no database"), 999), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		ctx          context.Context
		path, target string
		says         string
	}{
		"a name that is taken":       {ctx, path, "taken", "exists already"},
		"a link to nothing":          {ctx, path, "link", "exists already"},
		"a directory that is not":    {ctx, path, "none/b.db", "no such file or directory"},
		"no database":                {ctx, path + "x", "b.db", "there is no database"},
		"a file that is no database": {ctx, garbage, "b.db", "file is not a database (26)"},
		"a stop":                     {ended, path, "b.db", "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			err := errors.Join(os.WriteFile(filepath.Join(directory, "taken"), []byte("mine"), 0o600),
				os.Symlink("nowhere", filepath.Join(directory, "link")))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Make(c.ctx, c.path, filepath.Join(directory, c.target), nil)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v", err)
			}
			if all := names(t, directory); !slices.Equal(all, []string{"link", "taken"}) {
				t.Errorf("it left %v", all)
			}
			if text, err := os.ReadFile(filepath.Join(directory, "taken")); string(text) != "mine" {
				t.Errorf("the file is %q, %v", text, err)
			}
		})
	}
}
