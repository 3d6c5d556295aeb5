//go:build !postgres

package operations

// What these tests need to know of SQLite. engine_postgres_test.go is the other side.
const (
	duplicateCode = "storage_code=2067"
	badDatabase   = "DATA_DIR=/dev/null/data" // a setting with which nothing can be opened
)

// refusesSecrets is a trigger whose refusal names an email.
const refusesSecrets = `CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'Secret Bad'
	BEGIN SELECT RAISE(ABORT, 'no secret@example.org here'); END`
