package sqlite

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// candidate makes a database by statements and returns its bytes.
func candidate(t testing.TB, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "candidate")
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	run(t, other, statements...)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

const foreignTable = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at)"

// brokenIndex is a database whose index has lost a user, which quick_check does not see.
func brokenIndex(t testing.TB) []byte {
	return candidate(t, foreignTable, "INSERT INTO users VALUES (1, 'a', 'a', ''), (2, 'b', 'b', '')",
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
	whole := candidate(t, foreignTable, rows)
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
			path, from := unfinished(t, "old"), filepath.Join(t.TempDir(), "candidate.db")
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
	path, from := closedDatabase(t, "old"), unfinished(t, "new")
	if _, err := restore(t, path, from); err == nil || !strings.Contains(err.Error(), from+"-wal holds the last commits") {
		t.Errorf("the error is %v", err)
	}
	expectUsers(t, path, "old")
}

func TestACandidateWithAnEmptyWALFileBesideItIsWhole(t *testing.T) {
	path, from := closedDatabase(t, "old"), closedDatabase(t, "new")
	if err := os.WriteFile(from+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, path, from); err != nil {
		t.Error(err)
	}
	expectUsers(t, path, "new")
}

func TestADatabaseWhoseTableCannotBeServedIsNotRestored(t *testing.T) {
	for _, table := range refusedTables {
		t.Run(table.name, func(t *testing.T) {
			from, path := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "users.db")
			text := candidate(t, append([]string{"PRAGMA journal_mode = WAL"}, table.schema...)...)
			if err := os.WriteFile(from, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := restore(t, path, from)
			expectCannotServe(t, "the restore", err, table.why)
			if _, err := os.Stat(path); err == nil {
				t.Error("it was restored nevertheless")
			}
		})
	}
}
