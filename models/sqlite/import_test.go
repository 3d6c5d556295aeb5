package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
)

// manyRows are rows with emails that begin with a text. They call last behind the last of them.
func manyRows(n int, prefix string, last func()) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for i := range n {
			user := models.NewUser{Name: "n", Email: fmt.Sprintf("%s%x", prefix, int64(i)*2_654_435_761%1_000_000_007)}
			if !yield(models.ImportRow{Line: i + 2, User: user}, nil) {
				return
			}
		}
		last()
	}
}

func awaitTurn(users *Users) {
	for len(users.committer.underWay) == 0 {
		runtime.Gosched()
	}
}

func TestWritesThatArriveDuringAnImportAreDoneAfterIt(t *testing.T) {
	users := openUsers(t, 0)
	var wait sync.WaitGroup
	rows := manyRows(30_000, "file", func() {
		for i := range 2 * maxBatch {
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
	if n, err := users.Count(ctx, models.Query{}); n != 30_000+2*maxBatch || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// A write that has waited for an import has not waited for another program yet.
func TestTheWaitForAnotherProgramBeginsAfterAnImport(t *testing.T) {
	users := openUsers(t, 0)
	other := otherProgram(t, users)
	users.committer.underWay <- struct{}{}
	users.committer.freed = time.Now()
	<-users.committer.underWay
	run(t, other, "BEGIN IMMEDIATE")
	w := &write{
		run:     func(tx *transaction) error { _, err := tx.insert(models.NewUser{Name: "n", Email: "e"}); return err },
		arrived: time.Now().Add(-2 * busyTimeout), done: make(chan struct{}),
	}
	if err := users.committer.enqueue(ctx, w); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.done: // the first look at the lock takes busyTick
		t.Errorf("it was refused at once: %v", w.err)
	case <-time.After(6 * busyTick):
	}
	run(t, other, "COMMIT")
	if <-w.done; w.err != nil {
		t.Error(w.err)
	}
}

// Whatever ends an import in the middle, nothing of it is stored, and the next one works.
func TestAnImportThatEndsInTheMiddleIsTakenBack(t *testing.T) {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	for _, test := range []struct {
		name string
		ctx  context.Context
		end  func(*Users)
		want error
	}{
		{"the client goes away", gone, func(*Users) { leave() }, context.Canceled},
		{"the service stops in a hurry", ctx, func(users *Users) {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = users.Close(over)
		}, models.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			users := openUsers(t, 1<<20)
			path := users.committer.files.database.path
			storetest.Create(t, users, "before")
			var wait sync.WaitGroup
			rows := manyRows(300_000, "file", func() {
				wait.Go(func() { awaitTurn(users); test.end(users) })
			})
			if _, err := users.Import(test.ctx, rows, models.ImportOptions{}); !errors.Is(err, test.want) {
				t.Errorf("the import: %v", err)
			}
			wait.Wait()
			_ = users.Close(ctx)
			again, err := Open(ctx, path, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close(ctx) //nolint:errcheck // the test is over
			expectSound(t, again, 1)
			if done, err := again.Import(ctx, manyRows(10, "file", func() {}),
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
	if left, err := filepath.Glob(users.reader.spools + "*"); len(left) > 0 || err != nil {
		t.Errorf("left beside the database: %q, %v", left, err)
	}
}

func TestWithoutRoomAnImportIsTakenBack(t *testing.T) {
	users := openUsers(t, 0)
	storetest.Create(t, users, "before")
	limit := func(pages string) {
		if _, err := users.committer.conn.exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("20")
	_, err := users.Import(ctx, manyRows(10_000, "file", func() {}), models.ImportOptions{})
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code != "13" {
		t.Errorf("the import: %v", err)
	}
	limit("1000000")
	expectSound(t, users, 1)
	if done, err := users.Import(ctx, manyRows(10_000, "file", func() {}),
		models.ImportOptions{}); done.Created != 10_000 || err != nil {
		t.Error(done, err)
	}
}

// What an import took more of than a creation takes is given back, also by one that stored nothing.
func TestAnImportGivesBackItsCacheAndTheWALFile(t *testing.T) {
	users := openUsers(t, 0)
	before, _, _ := users.committer.conn.number("PRAGMA cache_size")
	for i, dryRun := range []bool{true, false} {
		if _, err := users.Import(ctx, manyRows(10_000, "file", func() {}),
			models.ImportOptions{DryRun: dryRun}); err != nil {
			t.Fatal(err)
		}
		storetest.Create(t, users, fmt.Sprint("after", i)) // it comes behind the import
		if after, _, err := users.committer.conn.number("PRAGMA cache_size"); after != before || err != nil {
			t.Errorf("the cache was %d and is %d, %v", before, after, err)
		}
		if bytes := walSize(t, users); bytes > 100_000 {
			t.Errorf("dry run %t: the -wal file has %d bytes", dryRun, bytes)
		}
	}
}

// What a table's own rules do to creations one by one, they do to an import; or it is refused with the line.
func TestAnImportDoesWhatTheSameCreationsDo(t *testing.T) {
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
		"a view": {"CREATE TABLE people (no INTEGER PRIMARY KEY, name, mail UNIQUE)",
			"CREATE VIEW users AS SELECT no AS id, name, mail AS email, NULL AS created_at FROM people",
			"CREATE TRIGGER t INSTEAD OF INSERT ON users BEGIN INSERT INTO people (name, mail) VALUES (new.name, new.email); END"},
		"ids of no kind": {"CREATE TABLE users (id, name, email, created_at)"},
	} {
		for _, emails := range []string{"a b c", "a b A", "a b a", "a bad c", "a bad c bad"} {
			t.Run(name+", "+emails, func(t *testing.T) { compareWithCreations(t, schema, strings.Fields(emails)) })
		}
	}
}

func compareWithCreations(t *testing.T, schema, emails []string) {
	imported, other := openTable(t, 1<<20, schema...)
	created, reference := openTable(t, 1<<20, schema...)
	var rows []models.NewUser
	var lines []int
	for i, email := range emails {
		rows = append(rows, models.NewUser{Name: email, Email: email})
		if _, err := created.Create(ctx, rows[i]); err != nil {
			lines = append(lines, i+2)
		}
	}
	done, err := imported.Import(ctx, storetest.Rows(rows...), models.ImportOptions{})
	if len(lines) == 0 {
		if err != nil || done.Created != len(rows) {
			t.Errorf("the import: %+v, %v", done, err)
		}
		if got, want := dump(t, other), dump(t, reference); got != want {
			t.Errorf("the import stored\n%s\nand the creations\n%s", got, want)
		}
		return
	}
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || len(refused.Listed) == 0 {
		t.Fatalf("the creations refused lines %v, and the import said %v", lines, err)
	}
	for i, row := range refused.Listed {
		if row.Line != lines[i] {
			t.Errorf("the import refused %v, want line %d", row, lines[i])
		}
	}
	if strings.Contains(strings.Join(schema, ""), "ROLLBACK") {
		lines = lines[:1] // behind it there is no transaction to try others in
	}
	if len(refused.Listed) != len(lines) {
		t.Errorf("the import refused %d lines, want %v", len(refused.Listed), lines)
	}
	_, nothing := openTable(t, 0, schema...)
	if got, want := dump(t, other), dump(t, nothing); got != want {
		t.Errorf("the refused import left\n%s", got)
	}
}

// dump returns what all tables hold, times apart.
func dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	var text strings.Builder
	for _, table := range []string{"users", "log", "people", "sqlite_sequence"} {
		rows, err := db.Query("SELECT rowid, * FROM " + table)
		if err != nil {
			continue // this schema has no such table
		}
		names, _ := rows.Columns()
		for rows.Next() {
			values := make([]any, len(names))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			for i, value := range values {
				if names[i] != "created_at" {
					fmt.Fprintf(&text, "%s.%s=%v ", table, names[i], *value.(*any))
				}
			}
			text.WriteString("\n")
		}
		_ = rows.Close()
	}
	return text.String()
}

// Where an email does not name one user, nothing can be said of a row whose email exists.
func TestRowsAreNotComparedWithATableWhereEmailsAreNotUnique(t *testing.T) {
	users, _ := openTable(t, 0, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)")
	rows := storetest.Rows(models.NewUser{Name: "n", Email: "e"})
	for _, conflict := range []models.Conflict{models.ConflictSkips, models.ConflictUpdates} {
		if _, err := users.Import(ctx, rows, models.ImportOptions{OnConflict: conflict}); !errors.Is(err,
			errNotUnique) {
			t.Errorf("%d: %v", conflict, err)
		}
	}
	expectSound(t, users, 0)
}

func TestAStartRemovesWhatAKilledImportLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.db")
	for _, name := range []string{path + "-spool-123", path + "-other"} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	users, err := Open(ctx, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // the test is over
	expectSound(t, users, 0)
	if _, err := os.Stat(path + "-other"); err != nil {
		t.Errorf("another's file was removed: %v", err)
	}
}

func TestASpoolThatCannotBeWrittenSaysWhy(t *testing.T) {
	s := newSpool(filepath.Join(t.TempDir(), "gone", "users.db-spool-"))
	defer s.close()
	large := record{texts: [3]string{strings.Repeat("n", spoolBytes)}}
	want := "a file beside the database cannot be written: no such file or directory"
	if err := s.add(large); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestASpoolIsReadWhileItIsWritten(t *testing.T) {
	s := newSpool(filepath.Join(t.TempDir(), "users.db-spool-"))
	defer s.close()
	broken := errors.New("broken")
	go func() {
		for i := range 100_000 {
			_ = s.add(record{int64(-i), [3]string{fmt.Sprint(i), "", strings.Repeat("é", i%50)}})
		}
		s.end(broken)
	}()
	n := 0
	for r, err := range s.records() {
		if err != nil {
			if !errors.Is(err, broken) {
				t.Error(err)
			}
			break
		}
		if r.number != int64(-n) || r.texts != [3]string{fmt.Sprint(n), "", strings.Repeat("é", n%50)} {
			t.Fatalf("record %d is %v", n, r)
		}
		n++
	}
	if n != 100_000 {
		t.Errorf("%d records came", n)
	}
}
