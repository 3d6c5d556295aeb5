package faults

import (
	"os"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// link makes users.db in one directory a symbolic link to a file in another, and returns both paths.
func link(t *testing.T) (users, target string) {
	t.Helper()
	users, target = filepath.Join(t.TempDir(), "users.db"), filepath.Join(t.TempDir(), "real.db")
	if err := os.Symlink(target, users); err != nil {
		t.Fatal(err)
	}
	return users, target
}

func TestTheDatabaseMayBeASymbolicLink(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	users, target := link(t)
	program.OpenOther(t, target).Do("CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at)",
		"INSERT INTO users (id, name, email, created_at) VALUES (7, 'Ada', 'ada@example.org', '')")
	expectLinked(t, users, target, 2)
}

func TestASymbolicLinkMayPointToAFileThatDoesNotExistYet(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	users, target := link(t)
	expectLinked(t, users, target, 1)
}

// expectLinked starts the program twice, creates a user, and looks for it in the link's target.
func expectLinked(t *testing.T, users, target string, want int) {
	t.Helper()
	p := program.Serve(t, "DATA_DIR="+filepath.Dir(users))
	p.Create(t, "Alan", "alan@example.org")
	p.Stop(t)
	if info, err := os.Lstat(users); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("users.db is no longer a link: %v", err)
	}
	if found := program.OpenOther(t, target).Ask("SELECT count(*) FROM users WHERE name = 'Alan'"); found != "1" {
		t.Errorf("the target has %s of the users that were created", found)
	}
	again := program.Serve(t, "DATA_DIR="+filepath.Dir(users))
	if listed := again.List(t); len(listed) != want {
		t.Errorf("the users are %v", listed)
	}
}

// The program must notice it as with a plain file.
func TestARemovedTargetOfASymbolicLinkEndsTheProgram(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	users, target := link(t)
	p := program.Serve(t, "DATA_DIR="+filepath.Dir(users))
	p.Create(t, "Ada", "ada@example.org")
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if code := p.Wait(t); code != 1 {
		t.Errorf("the exit code is %d", code)
	}
}
