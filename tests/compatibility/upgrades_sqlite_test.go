//go:build !postgres

package compatibility

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

const (
	databases    = "testdata/*/database.tar.gz"
	feedOfBefore = 404 // 7b31016 made a table that could give the key of an entry again
	// made is what commands make for the table users.
	made = `SELECT group_concat(sql, '; ')
		FROM (SELECT sql FROM sqlite_schema WHERE name LIKE 'users\_%' ESCAPE '\' ORDER BY name)`
)

// remake are the commands that the log and CHANGELOG.md ask for.
var remake = [][]string{{"changes", "on"}, {"index-search"}}

// putBack makes a database in a directory as an earlier version left it.
func putBack(t *testing.T, database, directory string) {
	t.Helper()
	program.Must(t, os.MkdirAll(directory, 0o700))
	output, err := exec.Command("tar", "-xzf", database, "-C", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(directory, "users.db")); err != nil {
		t.Fatal(err)
	}
}
