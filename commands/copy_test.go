//go:build postgres

package commands

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/postgres"
	"users-api/models/sqlite"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
	"users-api/tests/program"
)

// binary is the built program.
var binary string

var ctx = context.Background()

func TestMain(m *testing.M) {
	directory, err := os.MkdirTemp("", "users-api")
	if err == nil {
		binary, err = program.Build(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	postgresql.End()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

// file is a database file that users are copied from.
type file struct{ directory string }

func (f file) path() string { return filepath.Join(f.directory, "users.db") }

// newFile returns a file that the service has made, and that another program has written to.
func newFile(t testing.TB, statements ...string) file {
	t.Helper()
	f := file{t.TempDir()}
	f.open(t)()
	f.do(t, statements...)
	return f
}

// do runs statements of another program.
func (f file) do(t testing.TB, statements ...string) {
	t.Helper()
	other, err := sql.Open("sqlite", f.path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // what it did is looked at
	for _, statement := range statements {
		if _, err := other.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// open opens the file as the service does, until it is closed.
func (f file) open(t testing.TB) (closeFile func()) {
	t.Helper()
	users, err := sqlite.Open(ctx, f.path(), models.NewFields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = users.Close(ctx) }
}

// list returns the list as the service sends it.
func (f file) list(t testing.TB) string {
	t.Helper()
	users, err := sqlite.Open(ctx, f.path(), models.NewFields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close(ctx) //nolint:errcheck // it was only read
	text, _ := storetest.Text(t, users)
	return text
}

// copyTo runs the command, and returns its exit code and what it says.
func (f file) copyTo(t testing.TB, url string) (code int, says string) {
	t.Helper()
	return runCopy(t, "DATA_DIR="+f.directory, "DATABASE_URL="+url)
}

func runCopy(t testing.TB, settings ...string) (code int, says string) {
	t.Helper()
	command := exec.Command(binary, "copy")
	command.Env, command.Dir = append(settings, "GOCOVERDIR="+os.Getenv("GOCOVERDIR")), t.TempDir()
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(output)
}

// mustCopy copies a file and returns the users that are in PostgreSQL then.
func mustCopy(t testing.TB, f file, url string) *postgres.Users {
	t.Helper()
	if code, says := f.copyTo(t, url); code != 0 || !strings.Contains(says, "copied and compared: ") {
		t.Fatalf("the copy ended with %d, and said %s", code, says)
	}
	users, err := postgres.Open(ctx, url, models.NewFields(), 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}

// odd are users whose texts, times and ids are hard to move.
var odd = []string{
	`INSERT INTO users (name, email) VALUES
		(char(9) || char(10) || char(13) || char(92), 'backslash\n'), ('\N', '\.'), ('', ''),
		('“é”', '🦊'), ('"', ','), (char(31), '1'), (char(127) || char(8), '2')`,
	`INSERT INTO users (id, name, email, created_at) VALUES (-5, 'a', 'a', '2024-02-29T23:59:60.5+02:00'),
		(100, 'b', 'b', '2024-02-29T23:59:59.5+02:00'), (101, 'c', 'c', '1600-01-01 00:00:00'),
		(102, 'd', 'd', '9999-12-31 23:59:59'),
		(103, 'e', 'e', NULL), (9000000000, 'f', 'f', '2024-01-01'), (9000000007, 'last', 'last', '2024-01-01')`,
	"DELETE FROM users WHERE id = -5",
	"DELETE FROM users WHERE name = 'last'",
	`WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO users (id, name, email) SELECT 1000 + i, 'User ' || i, 'user' || i FROM n`,
}

func TestACopyHasEveryUserAsTheListShowsIt(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	through := server.PgBouncer(t, "default_pool_size=3")
	for name, url := range map[string]string{
		"to a new table": server.NewDatabase(t), "through a pooler": through(server.NewDatabase(t)),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t, odd...)
			want, before := f.list(t), content(t, f.directory)
			users := mustCopy(t, f, url)
			if got, _ := storetest.Text(t, users); got != want {
				t.Errorf("the list was\n%.2000s\nand is\n%.2000s", want, got)
			}
			if id := storetest.Create(t, users, "next"); id != 9000000008 {
				t.Errorf("the next user has the id %d", id)
			}
			if after := content(t, f.directory); after != before {
				t.Errorf("the directory had\n%s\nand has\n%s", before, after)
			}
		})
	}
}

// content returns the names and the checksums of the files of a directory.
func content(t testing.TB, directory string) (text string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %d %x\n", entry.Name(), len(data), bytes.Count(data, []byte{1}))
	}
	return text
}

// What a service that was killed has left in the -wal file is copied too.
func TestACopyHasWhatAKilledServiceStored(t *testing.T) {
	t.Parallel()
	live, killed := newFile(t), file{t.TempDir()}
	other, err := sqlite.Open(ctx, live.path(), models.NewFields(), 0)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, other, "in the -wal file")
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(live.path() + ending)
		if err == nil {
			err = os.WriteFile(killed.path()+ending, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = other.Close(ctx)
	users := mustCopy(t, killed, postgresql.Shared(t).NewDatabase(t))
	if n, err := users.Count(ctx, models.Query{}); n != 1 || err != nil {
		t.Errorf("%d users were copied, %v", n, err)
	}
}
