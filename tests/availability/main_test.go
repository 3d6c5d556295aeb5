//go:build postgres

// Package availability proves what clients get when the PostgreSQL server goes away, is replaced, is busy, or stands
// behind a pooler: soon an answer that is true, and all of the service again by itself.
package availability

import (
	"testing"

	"users-api/tests/postgresql"
	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// onServer starts the program on a new database of a server.
func onServer(t *testing.T, server *postgresql.Server, settings ...string) (p *program.Program, url string) {
	t.Helper()
	url = server.NewDatabase(t)
	return program.Serve(t, append(settings, "DATABASE_URL="+url)...), url
}
