//go:build !postgres

package changes

import (
	"os/exec"
	"testing"

	"users-api/tests/program"
)

// shell runs statements as an administrator does, in the shell of SQLite.
func shell(t *testing.T, p *program.Program, statements string) error {
	t.Helper()
	return exec.Command("sqlite3", "-bail", "-cmd", ".timeout 20000", p.DatabasePath(), statements).Run()
}

const replaceLoudly = "PRAGMA recursive_triggers = ON; "

// replaces are statements that only SQLite has. The triggers of the feed see what REPLACE removes if the program asks for it.
var replaces = []string{
	replaceLoudly + "REPLACE INTO users (name, email) SELECT 'replaced', email FROM users WHERE id %% 7 = %d LIMIT 3",
	replaceLoudly + "REPLACE INTO users (id, name, email) SELECT id, 'replaced', email || 'r' FROM users WHERE id %% 7 = %d LIMIT 3",
	replaceLoudly + "REPLACE INTO users (name, email) SELECT 'replaced', upper(email) FROM users WHERE id %% 19 = %d LIMIT 3",
	"DELETE FROM users WHERE id %% 37 = %d; VACUUM",
	replaceLoudly + "UPDATE OR REPLACE users SET id = id + 3, email = 'moved' || id WHERE id %% 97 = %d",
}
