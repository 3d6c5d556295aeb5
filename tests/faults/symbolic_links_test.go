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
	program.Must(t, os.Symlink(target, users))
	return users, target
}

func TestTheDatabaseMayBeASymbolicLink(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for name, test := range map[string]struct {
		statements []string // that make the target
		served     []string
	}{
		"to a database": {[]string{"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at)",
			"INSERT INTO users (id, name, email, created_at) VALUES (7, 'Ada', 'ada@example.org', '')"}, []string{"Ada", "Alan"}},
		"to a file that does not exist yet": {nil, []string{"Alan"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, target := link(t)
			if test.statements != nil {
				program.OpenOther(t, target).Do(test.statements...)
			}
			p := program.Serve(t, "DATA_DIR="+filepath.Dir(users))
			p.Create(t, "Alan", "alan@example.org")
			p.Stop(t)
			if info, err := os.Lstat(users); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("users.db is no longer a link: %v", err)
			}
			if found := program.OpenOther(t, target).Ask("SELECT count(*) FROM users WHERE name = 'Alan'"); found != "1" {
				t.Errorf("the target has %s of the users that were created", found)
			}
			program.Serve(t, "DATA_DIR="+filepath.Dir(users)).ExpectUsers(t, test.served...)
		})
	}
}

// The program must notice it as with a plain file.
func TestARemovedTargetOfASymbolicLinkEndsTheProgram(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	users, target := link(t)
	p := program.Serve(t, "DATA_DIR="+filepath.Dir(users))
	p.Create(t, "Ada", "ada@example.org")
	program.Must(t, os.Remove(target))
	p.ExpectEnd(t, 1)
}
