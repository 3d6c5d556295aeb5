//go:build postgres

package changes

import (
	"os/exec"
	"testing"

	"users-api/tests/program"
)

// shell runs statements as an administrator does, in psql.
func shell(t *testing.T, p *program.Program, statements string) error {
	t.Helper()
	return exec.Command("psql", "-qX", "-v", "ON_ERROR_STOP=1", program.DatabaseURL(t, p.DataDir), "-c", statements).Run()
}

// replaces are statements that only PostgreSQL has.
var replaces = []string{
	"WITH moved AS (DELETE FROM users WHERE id %% 29 = %d RETURNING name, email) INSERT INTO users (name, email) SELECT name, email || 'm' FROM moved",
}
