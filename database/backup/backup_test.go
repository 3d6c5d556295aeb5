package backup_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/database/backup"
	"users-api/database/dbfile"
)

const (
	table = `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE,
		created_at DATETIME DEFAULT (CURRENT_TIMESTAMP));`
	wal  = "PRAGMA journal_mode = WAL;"
	many = ` INSERT INTO users (name, email)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT 'User ' || i, i FROM n;`
)

func insert(email string) string {
	return "INSERT INTO users (name, email) VALUES ('n', '" + email + "');"
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// use opens a database, runs statements and returns the one value that the last one has, if it has one.
func use(t testing.TB, path, statements string) (value string) {
	t.Helper()
	db, err := dbfile.Open(path, dbfile.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer dbfile.Close(db)
	if err := db.Raw(statements).Scan(&value).Error; err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
	return value
}

// emails returns the emails in a database, by id.
func emails(t testing.TB, path string) string {
	t.Helper()
	return use(t, path, "SELECT group_concat(email, ' ' ORDER BY id) FROM users")
}

// file makes a database by statements and returns its path.
func file(t testing.TB, statements string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "users of #1?%41.db")
	write(t, path, nil)
	use(t, path, statements)
	return path
}

// closed makes a database with one user, as a service that has stopped leaves it.
func closed(t testing.TB, email string) (path string) {
	t.Helper()
	return file(t, wal+table+insert(email))
}

// killed makes a database by statements, of which a process that is killed runs the last, and returns its path.
func killed(t testing.TB, statements, last string) (path string) {
	t.Helper()
	path = file(t, statements)
	hold(t, path, last)()
	return path
}

// hold lets another process run statements and keep the database open, as a service does, until it is killed.
func hold(t testing.TB, path, statements string) (kill func()) {
	t.Helper()
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs sqlite3")
	}
	other := exec.Command(shell, "-bail", path)
	stdin, _ := other.StdinPipe()
	stdout, _ := other.StdoutPipe()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = errors.Join(other.Process.Kill(), other.Wait()) }
	t.Cleanup(kill)
	_, err = io.WriteString(stdin, statements+"\n.print done\n")
	if _, readErr := stdout.Read(make([]byte, 1)); errors.Join(err, readErr) != nil {
		t.Fatalf("%s: %v, %v", statements, err, readErr)
	}
	return kill
}

// waitForPartial waits until there is a partial file of a target, with some bytes.
func waitForPartial(t testing.TB, target string, bytes int64) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		found, _ := filepath.Glob(target + ".*.partial")
		if len(found) == 1 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() >= bytes {
				return
			}
		}
		if time.Now().After(until) {
			t.Fatalf("there is no partial file with %d bytes", bytes)
		}
	}
}

// names returns what is in the directory of a file.
func names(t testing.TB, path string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

func TestABackupThatIsNotSoundLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	zeroed := file(t, table+many)
	content := read(t, zeroed)
	copy(content[len(content)/2:], make([]byte, 4096))
	write(t, zeroed, content)
	for path, says := range map[string]string{zeroed: "malformed", file(t, "CREATE TABLE people (id)"): "it has no table users"} {
		target := filepath.Join(t.TempDir(), "b.db")
		if _, err := backup.Make(t.Context(), path, target); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, want %s", err, says)
		}
		if left := names(t, target); len(left) > 0 {
			t.Errorf("it left %v", left)
		}
	}
}

// The copy waits for a lock, as it does where the database is not in WAL mode.
func TestANameThatIsTakenDuringTheCopyIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	path, target, ended := file(t, table+insert("ada")), filepath.Join(t.TempDir(), "b.db"), make(chan error, 1)
	release := hold(t, path, "BEGIN EXCLUSIVE;")
	go func() {
		_, err := backup.Make(t.Context(), path, target)
		ended <- err
	}()
	waitForPartial(t, target, 0)
	write(t, target, []byte("mine"))
	release()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("the error is %v", err)
	}
	if left := names(t, target); len(left) != 1 || string(read(t, target)) != "mine" {
		t.Errorf("there are %v", left)
	}
}

func TestAStopEndsAStreamedBackupThatNothingReads(t *testing.T) {
	t.Parallel()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() //nolint:errcheck // its first byte is all that is read
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_, _ = out.Read(make([]byte, 1))
		stop()
	}()
	if _, err := backup.Write(ctx, file(t, table+many), in); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}

// What a killed process left is removed a day later, and what looks like it is not.
func TestPartialFilesOfKilledProcessesAreRemovedWhenNoProgramWritesThemAnyMore(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "b.db")
	for name, age := range map[string]time.Duration{
		"b.db.123.partial": 25 * time.Hour, "b.db.123.partial-wal": 25 * time.Hour, "b.db.4.partial": 23 * time.Hour,
		"b.db.x.partial": 25 * time.Hour, "bxdb.1.partial": 25 * time.Hour,
	} {
		path, written := filepath.Join(filepath.Dir(target), name), time.Now().Add(-age)
		write(t, path, nil)
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.Make(t.Context(), closed(t, "ada"), target); err != nil {
		t.Fatal(err)
	}
	want := []string{"b.db", "b.db.4.partial", "b.db.x.partial", "bxdb.1.partial"}
	if all := names(t, target); !slices.Equal(all, want) {
		t.Errorf("there are %v", all)
	}
}
