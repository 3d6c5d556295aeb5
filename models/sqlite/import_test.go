package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/batch"
	"users-api/models/sqlite/dbfile"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func awaitTurn(users *Users) {
	for len(users.writer.underWay) == 0 {
		runtime.Gosched()
	}
}

func TestWritesThatArriveDuringAnImportAreDoneAfterIt(t *testing.T) {
	users := openUsers(t, 0)
	var wait sync.WaitGroup
	rows := storetest.ManyRows(30_000, "file", func() {
		for i := range 2 * batch.Most {
			wait.Go(func() {
				awaitTurn(users)
				if _, err := users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint("meanwhile",
					i)}); err != nil {
					t.Error(err)
				}
			})
		}
	})
	if done, err := users.Import(ctx, rows, models.ImportOptions{}); done.Created != 30_000 || err != nil {
		t.Error(done, err)
	}
	wait.Wait()
	if n, err := users.Count(ctx, models.Query{}); n != 30_000+2*batch.Most || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// A write that has waited for an import has not waited for another program yet.
func TestTheWaitForAnotherProgramBeginsAfterAnImport(t *testing.T) {
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	if err := users.writer.do(ctx, &write{exclusive: true, run: func(*transaction) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	sqlitetest.Run(t, other, "BEGIN IMMEDIATE")
	w := &write{Write: batch.Write{Arrived: time.Now().Add(-2 * dbfile.BusyTimeout)}}
	begun := make(chan []*write)
	users.writer.pause(func() { // when it has given everything back
		go func() { begun <- users.writer.beginWithRetry([]*write{w}) }()
		select {
		case <-begun: // the first look at the lock takes busyTick
			t.Error("it was refused at once")
		case <-time.After(6 * busyTick):
		}
		sqlitetest.Run(t, other, "COMMIT")
		if took := <-begun; len(took) != 1 {
			t.Error("it was refused")
		}
		users.writer.rollBack()
	})
}

// Whatever ends an import in the middle, nothing of it is stored, and the next one works.
func TestAnImportThatEndsInTheMiddleIsTakenBack(t *testing.T) {
	for _, interruption := range storetest.Interruptions(t) {
		t.Run(interruption.Name, func(t *testing.T) {
			users := openUsers(t, 1<<20)
			path := users.writer.files.database.path
			storetest.Create(t, users, "before")
			interruption.Interrupt(t, users, func() { awaitTurn(users) })
			_ = users.Close(ctx)
			again, err := Open(ctx, path, storetest.Fields(), 0)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close(ctx) //nolint:errcheck // the test is over
			expectSound(t, again, 1)
			if done, err := again.Import(ctx, storetest.ManyRows(10, "file", func() {}),
				models.ImportOptions{}); done.Created != 10 || err != nil {
				t.Error(done, err)
			}
		})
	}
}

// expectSound says when the file is damaged, holds other than n users, or has a spool beside it.
func expectSound(t *testing.T, users *Users, n int64) {
	t.Helper()
	var check string
	if err := otherProgram(t, users).QueryRow("PRAGMA integrity_check").Scan(&check); check != "ok" || err != nil {
		t.Errorf("integrity_check says %q, %v", check, err)
	}
	if got, err := users.Count(ctx, models.Query{}); got != n || err != nil {
		t.Errorf("%d users are stored, want %d, %v", got, n, err)
	}
	if left, err := filepath.Glob(users.writer.files.spools() + "*"); len(left) > 0 || err != nil {
		t.Errorf("left beside the database: %q, %v", left, err)
	}
}

func TestWithoutRoomAnImportIsTakenBack(t *testing.T) {
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	limit := func(pages string) {
		onWriter(t, users, func(conn *connection) error { return conn.Script("PRAGMA max_page_count = " + pages) })
	}
	limit("20")
	_, err := users.Import(ctx, storetest.ManyRows(10_000, "file", func() {}), models.ImportOptions{})
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code != "13" {
		t.Errorf("the import: %v", err)
	}
	limit("1000000")
	expectSound(t, users, 1)
	if done, err := users.Import(ctx, storetest.ManyRows(10_000, "file", func() {}),
		models.ImportOptions{}); done.Created != 10_000 || err != nil {
		t.Error(done, err)
	}
}

// cacheSize is the page cache of the connection that writes.
func cacheSize(t *testing.T, users *Users) (size string) {
	t.Helper()
	onWriter(t, users, func(conn *connection) (err error) {
		size, err = conn.Setting("cache_size")
		return err
	})
	return size
}

// What an import took more of than a creation takes is given back, also by one that stored nothing.
func TestAnImportGivesBackItsCacheAndTheWALFile(t *testing.T) {
	users := openUsers(t, 0)
	before := cacheSize(t, users)
	for i, dryRun := range []bool{true, false} {
		if _, err := users.Import(ctx, storetest.ManyRows(10_000, "file", func() {}),
			models.ImportOptions{DryRun: dryRun}); err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, users, fmt.Sprint("after", i)) // it comes behind the import
		if after := cacheSize(t, users); after != before {
			t.Errorf("the cache was %s and is %s", before, after)
		}
		if bytes := walSize(t, users); bytes > 100_000 {
			t.Errorf("dry run %t: the -wal file has %d bytes", dryRun, bytes)
		}
	}
}

// An import's spool is a file without a name: it takes its room on the disk until it is closed.
func TestAnImportClosesItsSpool(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells which files are open")
	}
	users := openUsers(t, 0)
	for _, conflict := range []models.Conflict{models.ConflictSkips, models.ConflictFails} { // the second is refused
		_, _ = users.Import(ctx, storetest.ManyRows(30_000, "file", func() {}), models.ImportOptions{OnConflict: conflict})
		open, err := filepath.Glob("/proc/self/fd/*")
		if err != nil || len(open) == 0 {
			t.Fatal("no file is open", err)
		}
		for _, descriptor := range open {
			if path, _ := os.Readlink(descriptor); strings.HasPrefix(path, users.writer.files.database.path+"-spool-") {
				t.Errorf("%s is open", path)
			}
		}
	}
}

// What a table's own rules do to creations one by one, they do to an import; or it is refused with the line.
func TestAnImportDoesWhatTheSameCreationsDo(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at)"
	for name, schema := range map[string][]string{
		"a trigger that notes": {table, "CREATE TABLE log (what)",
			"CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO log VALUES (new.name); END"},
		"a trigger that changes": {table, "CREATE TRIGGER t AFTER INSERT ON users BEGIN " +
			"UPDATE users SET name = upper(name) WHERE id = new.id; END"},
		"a trigger that refuses": {table, "CREATE TRIGGER t BEFORE INSERT ON users WHEN new.name = 'bad' " +
			"BEGIN SELECT RAISE(ABORT, 'not him'); END"},
		"a trigger that fails and leaves a trace": {table, "CREATE TABLE log (what)",
			"CREATE TRIGGER t BEFORE INSERT ON users WHEN new.name = 'bad' " +
				"BEGIN INSERT INTO log VALUES (1); SELECT RAISE(FAIL, 'not him'); END"},
		"a trigger that ignores": {table, "CREATE TRIGGER t BEFORE INSERT ON users WHEN new.name = 'bad' " +
			"BEGIN SELECT RAISE(IGNORE); END"},
		"a trigger that rolls back": {table, "CREATE TRIGGER t BEFORE INSERT ON users WHEN new.name = 'bad' " +
			"BEGIN SELECT RAISE(ROLLBACK, 'not him'); END"},
		"a rule for values":         {"CREATE TABLE users (id INTEGER PRIMARY KEY, name CHECK (name <> 'bad'), email, created_at)"},
		"emails without an index":   {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)"},
		"a clause that replaces":    {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE ON CONFLICT REPLACE, created_at)"},
		"emails in any letter case": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE COLLATE NOCASE, created_at)"},
		"a column that is needed":   {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at, more NOT NULL)"},
	} {
		for _, emails := range []string{"a b c", "a b A", "a b a", "a bad c", "a bad c bad"} {
			t.Run(name+", "+emails, func(t *testing.T) { compareWithCreations(t, schema, strings.Fields(emails)) })
		}
	}
}
