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

// otherColumns are those of the table besides the four that it always has.
const otherColumns = `SELECT COALESCE(group_concat(name), '') FROM pragma_table_info('users')
	WHERE name NOT IN ('id', 'name', 'email', 'created_at')`

const (
	noTable         = "there is no database"
	noColumnOfAView = "the table users cannot be served: it is a view"
	sameEmail       = "UNIQUE constraint failed: "
)
