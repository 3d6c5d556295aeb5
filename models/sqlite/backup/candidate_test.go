package backup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/models/sqlite/sqlitetest"
)

// candidate makes a database by statements and returns its bytes.
func candidate(t testing.TB, statements ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(sqlitetest.File(t, statements...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// brokenIndex is a database whose index has lost a user, which quick_check does not see.
func brokenIndex(t testing.TB) []byte {
	return candidate(t, sqlitetest.Table, "INSERT INTO users VALUES (1, 'a', 'a', ''), (2, 'b', 'b', '')",
		"CREATE TABLE empty (email UNIQUE)", "PRAGMA writable_schema = ON",
		`UPDATE sqlite_schema SET rootpage =
			(SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_empty_1')
			WHERE name = 'sqlite_autoindex_users_1'`,
		"DELETE FROM sqlite_schema WHERE tbl_name = 'empty'")
}

func TestACandidateThatCannotBeServedChangesNothing(t *testing.T) {
	t.Parallel()
	rows := `INSERT INTO users (name, email)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT 'User ' || i, i FROM n`
	whole := candidate(t, sqlitetest.Table, rows)
	zeroed := slices.Clone(whole)
	copy(zeroed[len(zeroed)/2:], make([]byte, 4096))
	for name, c := range map[string]struct {
		text []byte
		says string
	}{
		"empty":                   {nil, "it is empty"},
		"no database":             {bytes.Repeat([]byte("id,name,email\n"), 999), "not an SQLite database"},
		"a short text":            {[]byte("hello"), "not an SQLite database"},
		"the first half":          {whole[:len(whole)/2], "damaged"},
		"all but the last page":   {whole[:len(whole)-4096], "damaged"},
		"a page of zeros":         {zeroed, "check says"},
		"an index that lost rows": {brokenIndex(t), "integrity_check says"},
		"no table users":          {candidate(t, "CREATE TABLE people (id)"), "it has no table users"},
		"a table without times":   {candidate(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email)"), "has no column named created_at"},
		"a view of nothing":       {candidate(t, "CREATE VIEW users AS SELECT * FROM nowhere"), "it is a view"},
	} {
		t.Run(name, func(t *testing.T) {
			path, from := sqlitetest.Killed(t, "old"), filepath.Join(t.TempDir(), "candidate.db")
			before := contents(t, filepath.Dir(path))
			if err := os.WriteFile(from, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := restore(t, path, from)
			for _, text := range []string{from, "cannot be restored, and nothing was changed", c.says} {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if after := contents(t, filepath.Dir(path)); before != after {
				t.Error("something was changed")
			}
			expectUsers(t, path, "old")
		})
	}
}

// contents returns the names and the bytes of everything in a directory.
func contents(t testing.TB, directory string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names(t, directory) {
		text, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s: %x\n", name, text)
	}
	return all.String()
}

// A file that was copied without its -wal file looks whole.
func TestACandidateWhoseLastCommitsAreInAnotherFileIsRefused(t *testing.T) {
	path, from := sqlitetest.Closed(t, "old"), sqlitetest.Killed(t, "new")
	if _, err := restore(t, path, from); err == nil || !strings.Contains(err.Error(), from+"-wal holds the last commits") {
		t.Errorf("the error is %v", err)
	}
	expectUsers(t, path, "old")
}

func TestACandidateWithAnEmptyWALFileBesideItIsWhole(t *testing.T) {
	path, from := sqlitetest.Closed(t, "old"), sqlitetest.Closed(t, "new")
	if err := os.WriteFile(from+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, path, from); err != nil {
		t.Error(err)
	}
	expectUsers(t, path, "new")
}

func TestADatabaseWhoseTableCannotBeServedIsNotRestored(t *testing.T) {
	for _, table := range sqlitetest.RefusedTables {
		t.Run(table.Name, func(t *testing.T) {
			from := sqlitetest.File(t, append([]string{"PRAGMA journal_mode = WAL"}, table.Schema...)...)
			path := filepath.Join(t.TempDir(), "users.db")
			_, err := restore(t, path, from)
			sqlitetest.ExpectCannotServe(t, "the restore", err, table.Why)
			if _, err := os.Stat(path); err == nil {
				t.Error("it was restored nevertheless")
			}
		})
	}
}
