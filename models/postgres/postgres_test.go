//go:build postgres

package postgres

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"users-api/tests/postgresql"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgresql.End()
	os.Exit(code)
}

var ctx = context.Background()

// openUsers opens a database.
func openUsers(t testing.TB, url string) *Users {
	t.Helper()
	users, err := Open(ctx, url, 8<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users
}
