package load

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// 1,000,000 people take at most 2.5 times as long as in SQLite's own shell, and at most 192 MiB.
func TestAMillionUsersAreImportedInTimeAndMemory(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsLong(t)
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs sqlite3")
	}
	const n = 1_000_000
	directory := t.TempDir()
	path, rows := filepath.Join(directory, "people.csv"), filepath.Join(directory, "rows.csv")
	text := program.ManyRows(n)
	program.WriteFile(t, path, text)
	program.WriteFile(t, rows, asRows(text))
	began := time.Now()
	output, err := exec.Command(shell, filepath.Join(directory, "shell.db"),
		"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
		"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, "+
			"created_at DATETIME)",
		".import --csv "+rows+" users").CombinedOutput()
	ofShell := time.Since(began)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	p := program.Serve(t)
	file, err := os.Open(path)
	program.Must(t, err)
	defer file.Close() //nolint:errcheck // it is only read
	began = time.Now()
	response, err := http.Post(p.URL+program.CSV, "text/csv", file)
	took := time.Since(began)
	if err != nil || response.StatusCode != 200 {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	peak := p.Memory(t, "VmHWM")
	if ratio := took.Seconds() / ofShell.Seconds(); ratio > 2.5 {
		t.Errorf("it took %.1f times as long as the shell", ratio)
	}
	if peak > program.MemoryBound(192<<20) {
		t.Errorf("it took %d MiB", peak>>20)
	}
	t.Logf("%s, and the shell %s; peak memory %d MiB", took, ofShell, peak>>20)
}

// asRows is a file of people as the shell can import it: each row as it will be in the table.
func asRows(people string) string {
	var text strings.Builder
	for id, line := range strings.Split(strings.TrimSuffix(people, "\n"), "\n")[1:] {
		fmt.Fprintf(&text, "%d,%s,2026-11-20 15:42:07\n", id+1, line)
	}
	return text.String()
}
