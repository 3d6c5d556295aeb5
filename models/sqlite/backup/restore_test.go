package backup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/sqlite"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// restore restores a file.
func restore(t testing.TB, path, from string) (Restored, error) {
	t.Helper()
	file, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	return Restore(ctx, path, storetest.Fields(), file, nil)
}

// expectUsers fails unless exactly these emails are listed.
func expectUsers(t testing.TB, path string, emails ...string) {
	t.Helper()
	users := serve(t, path)
	text, _ := storetest.Text(t, users)
	if err := users.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, email := range emails {
		if !strings.Contains(text, `"email":"`+email+`"`) {
			t.Errorf("%s is not in %s", email, text)
		}
	}
	if n := strings.Count(text, `"email":`); n != len(emails) {
		t.Errorf("%s lists %d users: %s", path, n, text)
	}
}

func TestARestoreReplacesTheDatabaseAndKeepsTheOldOne(t *testing.T) {
	path, from := sqlitetest.Closed(t, "old"), sqlitetest.Closed(t, "new")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	restored, err := restore(t, path, from)
	if err != nil || restored.Users != 1 || !strings.HasPrefix(restored.Kept, path+".replaced-20") {
		t.Fatalf("%+v, %v", restored, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != restored.Bytes || info.Mode().Perm() != 0o640 {
		t.Errorf("it is %v, %v", info, err)
	}
	if all := names(t, filepath.Dir(path)); !slices.Equal(all, []string{"users.db", filepath.Base(restored.Kept)}) {
		t.Errorf("beside it are %v", all)
	}
	expectUsers(t, path, "new")
	expectUsers(t, restored.Kept, "old")
	expectUsers(t, from, "new")
}

// The users are read in pages of 512, and a count of pages would be no count of users.
func TestARestoreCountsTheUsersOfEveryPage(t *testing.T) {
	from := sqlitetest.File(t, sqlitetest.Table, `INSERT INTO users (name, email)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1025) SELECT 'User ' || i, i FROM n`)
	restored, err := restore(t, filepath.Join(t.TempDir(), "users.db"), from)
	if err != nil || restored.Users != 1025 {
		t.Errorf("%d users are restored, %v", restored.Users, err)
	}
}

func TestARestoreNeedsNoDatabaseToReplace(t *testing.T) {
	path, from := filepath.Join(t.TempDir(), "not", "there", "users.db"), sqlitetest.Closed(t, "new")
	restored, err := restore(t, path, from)
	if err != nil || restored.Kept != "" {
		t.Fatalf("%+v, %v", restored, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
	expectUsers(t, path, "new")
}

func TestARestoreFollowsSymbolicLinks(t *testing.T) {
	path, from := sqlitetest.Closed(t, "old"), sqlitetest.Closed(t, "new")
	link := filepath.Join(t.TempDir(), "users.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	restored, err := restore(t, link, from)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(link); target != path || filepath.Dir(restored.Kept) != filepath.Dir(path) {
		t.Errorf("the link leads to %s, %v; the old database is %s", target, err, restored.Kept)
	}
	expectUsers(t, link, "new")
	expectUsers(t, restored.Kept, "old")
}

func TestWhatTheOldDatabaseHadOnlyInItsWALIsKeptToo(t *testing.T) {
	path := sqlitetest.Killed(t, "old")
	restored, err := restore(t, path, sqlitetest.Closed(t, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if all := names(t, filepath.Dir(path)); len(all) != 2 {
		t.Errorf("beside it are %v", all)
	}
	expectUsers(t, path, "new")
	expectUsers(t, restored.Kept, "old")
}

// SQLite would apply a -wal file or a journal that is left behind to any database that takes the name.
func TestFilesOfADatabaseThatIsGoneAreNotMixedIntoTheRestoredOne(t *testing.T) {
	path := sqlitetest.Killed(t, "old")
	err := errors.Join(os.Remove(path), os.WriteFile(path+"-journal", []byte("old"), 0o600),
		os.WriteFile(path+"-shm", []byte("old"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, path, sqlitetest.Closed(t, "new")); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(names(t, filepath.Dir(path)), " ")
	if strings.Count(all, ".replaced-") != 2 || !strings.Contains(all, "Z-wal") || !strings.Contains(all, "Z-journal") ||
		strings.Contains(all, "-shm") {
		t.Errorf("beside it are %s", all)
	}
	expectUsers(t, path, "new")
}

func TestADatabaseThatCannotBeReadIsReplacedAndKept(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(text []byte) []byte{
		"no database": func([]byte) []byte { return bytes.Repeat([]byte("garbage"), 9999) },
		"zeros":       func(text []byte) []byte { return make([]byte, len(text)) },
		"a schema that is overwritten": func(text []byte) []byte {
			return append(text[:100:100], bytes.Repeat([]byte{0xff}, len(text)-100)...)
		},
		"empty": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := sqlitetest.Closed(t, "old")
			text, err := os.ReadFile(path)
			damaged := damage(text)
			err = errors.Join(err, os.WriteFile(path, damaged, 0o600), os.WriteFile(path+"-wal", []byte("rest"), 0o600))
			if err != nil {
				t.Fatal(err)
			}
			restored, err := restore(t, path, sqlitetest.Closed(t, "new"))
			if err != nil {
				t.Fatal(err)
			}
			if kept, err := os.ReadFile(restored.Kept); !bytes.Equal(kept, damaged) {
				t.Errorf("of %d bytes %d were kept, %v", len(damaged), len(kept), err)
			}
			expectUsers(t, path, "new")
		})
	}
}

func TestAnIncompleteBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ from, says string }{
		"a -wal file":                 {sqlitetest.Killed(t, "new"), "VACUUM INTO"},
		"a -wal file behind a link":   {sqlitetest.Link(t, sqlitetest.Killed(t, "new")), "VACUUM INTO"},
		"a hot journal":               {sqlitetest.Interrupted(t), "takes that transaction back"},
		"a hot journal behind a link": {sqlitetest.Link(t, sqlitetest.Link(t, sqlitetest.Interrupted(t))), "takes that transaction back"},
	} {
		t.Run(name, func(t *testing.T) {
			path := sqlitetest.Closed(t, "old")
			if restored, err := restore(t, path, test.from); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%+v, %v", restored, err)
			}
			if all := names(t, filepath.Dir(path)); len(all) != 1 {
				t.Errorf("beside it are %v", all)
			}
			expectUsers(t, path, "old")
		})
	}
}

// With journal_mode PERSIST the -journal file stays after a commit, and its header is zeroed.
func TestABackupBesideAJournalThatIsOverIsRestored(t *testing.T) {
	t.Parallel()
	from := sqlitetest.Closed(t, "new")
	if err := os.WriteFile(from+"-journal", make([]byte, 512), 0o600); err != nil {
		t.Fatal(err)
	}
	path := sqlitetest.Closed(t, "old")
	if _, err := restore(t, path, from); err != nil {
		t.Fatal(err)
	}
	expectUsers(t, path, "new")
}

// The users in a database that is restored are not those that the clients have seen.
func TestARestoreEndsTheCursorsThatClientsHave(t *testing.T) {
	t.Parallel()
	const empty = "PRAGMA wal_checkpoint(TRUNCATE)"
	for mode, change := range map[string]string{
		"rollback mode": "", "WAL": empty, "a feed that has ended": "CREATE UNIQUE INDEX i ON users (name, email); " + empty,
	} {
		path := sqlitetest.Closed(t, "ada")
		if err := sqlite.RecordChanges(ctx, path); err != nil {
			t.Fatal(err)
		}
		sqlitetest.Run(t, sqlitetest.Open(t, path), "UPDATE users SET name = 'new'")
		users := serve(t, path)
		before := storetest.Follow(t, users)
		sqlitetest.Run(t, sqlitetest.Open(t, path), "UPDATE users SET name = 'newer'")
		before.ExpectAll(t)
		if err := users.Close(ctx); err != nil {
			t.Fatal(err)
		}
		from := filepath.Join(t.TempDir(), "backup.db")
		sqlitetest.Run(t, sqlitetest.Open(t, path), "VACUUM INTO '"+from+"'") // it is in rollback mode
		if change != "" {
			sqlitetest.Run(t, sqlitetest.Open(t, from), change)
		}
		to := filepath.Join(t.TempDir(), "users.db")
		if _, err := restore(t, to, from); err != nil {
			t.Fatal(err)
		}
		if all := names(t, filepath.Dir(to)); !slices.Equal(all, []string{"users.db"}) {
			t.Errorf("%s: beside it are %v", mode, all)
		}
		sqlitetest.Run(t, sqlitetest.Open(t, to), "DROP INDEX IF EXISTS i") // it goes on
		restored := serve(t, to)
		for _, change := range before.Entries {
			if _, err := restored.Changes(ctx, change.Cursor, 10); !errors.Is(err, models.ErrCursorGone) {
				t.Errorf("%s: a cursor of before: %v", mode, err)
			}
		}
		after := storetest.Follow(t, restored)
		storetest.Create(t, restored, "bob")
		after.ExpectAll(t)
	}
}
