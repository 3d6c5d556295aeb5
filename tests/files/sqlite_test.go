//go:build !postgres

package files

import (
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// exported are users as an export must be able to write them.
var exported = []string{
	"CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, email TEXT UNIQUE, created_at DATETIME)",
	`INSERT INTO users (id, name, email, created_at) VALUES (1, 'Ada', 'ada', '2026-11-20 15:42:07'),
		(2, 'King, "Martin"', 'king', '2026-11-20T15:42:07Z'),
		(5, '=1+2', '''@x', NULL), (7, 'A' || char(13, 10) || 'B', 'lines', '')`,
}

// slowTable makes users so slow to store that an import of many takes minutes. Some are in its transaction soon.
var slowTable = []string{
	`CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 30000)
		SELECT count(*) AS rows FROM n`,
	"CREATE TABLE work (rows)",
	"CREATE TRIGGER r AFTER INSERT ON users WHEN new.id > 20 BEGIN INSERT INTO work SELECT rows FROM slow; END",
}

// isTrying reports whether a dry run makes its copy, or stores rows there.
func isTrying(p *program.Program, _ *program.Other) bool {
	copies, _ := filepath.Glob(p.DatabasePath() + "-spool-*/users.db")
	return len(copies) == 1
}

// refusing makes the table refuse users with one name.
var refusing = []string{
	"CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'Bad' BEGIN SELECT RAISE(ABORT, 'no Bad users'); END",
}

// readsNothing reports whether the program reads nothing at the moment.
func readsNothing(t *testing.T, p *program.Program, other *program.Other) bool {
	t.Helper()
	other.Do("PRAGMA wal_checkpoint(TRUNCATE)")
	return program.WALBytes(t, p) == 0
}
