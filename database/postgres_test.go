//go:build postgres

package database_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"users-api/database"
	"users-api/tests/failing"
	"users-api/tests/postgresql"
)

var postgres = engine{
	name: "PostgreSQL",
	empty: func(t testing.TB) database.Location {
		url := postgresql.Shared(t).NewDatabase(t)
		postgresql.SQL(t, url, `CREATE SCHEMA "It's @id, ? and %s"`, `DO $$ BEGIN EXECUTE format(
			'ALTER DATABASE %I SET search_path = "It''s @id, ? and %%s"', current_database()); END $$`)
		return database.Location{URL: url}
	},
	other: func(t testing.TB, at database.Location) *sql.DB {
		t.Helper()
		return connect(t, "pgx", at.URL)
	},
	failing: func(t testing.TB, statements *failing.Statements) database.Location {
		return database.Location{URL: failing.Server(t, postgresql.Shared(t).NewDatabase(t), statements)}
	},
	delayed: true,
}

func init() {
	databases, atEnd = append(databases, postgres), append(atEnd, postgresql.End)
}
