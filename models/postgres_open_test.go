//go:build postgres

package models_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"users-api/models"
	"users-api/tests/postgresql"
)

var postgres = database{
	name: "PostgreSQL",
	empty: func(t testing.TB) models.Database {
		url := postgresql.Shared(t).NewDatabase(t)
		postgresql.SQL(t, url, `CREATE SCHEMA "It's @id, ? and %s"`, `DO $$ BEGIN EXECUTE format(
			'ALTER DATABASE %I SET search_path = "It''s @id, ? and %%s"', current_database()); END $$`)
		return models.Database{URL: url}
	},
	other: func(t testing.TB, at models.Database) *sql.DB {
		t.Helper()
		db, err := sql.Open("pgx", at.URL)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		return db
	},
	odd: []string{
		"VACUUM FULL users",
		`CREATE FUNCTION spread() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			UPDATE users SET name = name || '!' WHERE id = 1; RETURN NULL; END $$;
			CREATE TRIGGER t AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION spread()`,
		"DROP TRIGGER t ON users",
		"UPDATE users SET name = 'all'",
		"ALTER TABLE users RENAME COLUMN name TO old; ALTER TABLE users ALTER COLUMN old DROP NOT NULL; " +
			"ALTER TABLE users ADD COLUMN name text NOT NULL DEFAULT 'empty'",
	},
	noNUL: true, delayed: true,
}

func init() {
	databases, atEnd = append(databases, postgres), append(atEnd, postgresql.End)
}
