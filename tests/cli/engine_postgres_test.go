//go:build postgres

package cli

// What these tests need to know of PostgreSQL. engine_sqlite_test.go is the other side.
const (
	noColumnOfAView = "the table users cannot be served: it is not an ordinary table"
	sameEmail       = `duplicate key value violates unique constraint \"users_email_nocase\"`
)

// otherColumns are those of the table besides the four that it always has.
const otherColumns = `SELECT COALESCE(string_agg(column_name, ',' ORDER BY ordinal_position), '') FROM information_schema.columns
	WHERE table_name = 'users' AND column_name NOT IN ('id', 'name', 'email', 'created_at')`
