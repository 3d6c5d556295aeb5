package postgresql

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// SQL runs statements on a connection of its own, each as it stands.
func SQL(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn := connect(ctx, t, url)
	defer conn.Close(ctx) //nolint:errcheck // it has done what it should
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// Ask returns the one value that a query selects, as text.
func Ask(t testing.TB, url, query string) (text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	conn := connect(ctx, t, url)
	defer conn.Close(ctx) //nolint:errcheck // it has done what it should
	if err := conn.QueryRow(ctx, query).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// connect opens a connection that sends every statement as text, so that values come as text too and a pooler in
// between is no matter.
func connect(ctx context.Context, t testing.TB, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// As returns the URL of a database as another role has it, which needs no password.
func As(t testing.TB, database, role string) string {
	t.Helper()
	name, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name.User = url.User(role)
	return name.String()
}
