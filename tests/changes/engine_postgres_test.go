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
	return psql(program.DatabaseURL(t, p.DataDir), statements)
}

func psql(url, statements string) error {
	return exec.Command("psql", "-qX", "-v", "ON_ERROR_STOP=1", url, "-c", statements).Run()
}

// replaces are statements that only PostgreSQL has.
var replaces = []string{
	"WITH moved AS (DELETE FROM users WHERE id %% 29 = %d RETURNING name, email) " +
		"INSERT INTO users (name, email) SELECT name, email || 'm' FROM moved",
	"BEGIN; UPDATE users SET name = 'late' WHERE id %% 37 = %d; SELECT pg_sleep(0.2); COMMIT",
}
