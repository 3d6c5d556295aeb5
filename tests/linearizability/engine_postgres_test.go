//go:build postgres

package linearizability

import (
	"testing"

	"users-api/tests/program"
)

// processes is how many serve one database.
const processes = 3

func shellCommand(t *testing.T, p *program.Program, statement string) []string {
	return []string{"psql", "-qXAt", "-v", "ON_ERROR_STOP=1", program.DatabaseURL(t, p.DataDir), "-c", statement}
}
