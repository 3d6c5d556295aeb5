//go:build !postgres

package cli

// What these tests need to know of SQLite. engine_postgres_test.go is the other side.
const (
	noColumnOfAView = "the table users cannot be served: it is a view"
	sameEmail       = "UNIQUE constraint failed: "
)

// otherColumns are those of the table besides the four that it always has.
const otherColumns = `SELECT COALESCE(group_concat(name), '') FROM pragma_table_info('users')
	WHERE name NOT IN ('id', 'name', 'email', 'created_at')`
