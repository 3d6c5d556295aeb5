//go:build postgres

package operations

// What these tests need to know of PostgreSQL. engine_sqlite_test.go is the other side.
const (
	duplicateCode = "storage_code=23505"
	badDatabase   = "DATABASE_URL=mysql://127.0.0.1/users" // a setting with which nothing can be opened
)

// refusesSecrets is a trigger whose refusal names an email.
const refusesSecrets = `CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	IF NEW.name = 'Secret Bad' THEN RAISE 'no secret@example.org here'; END IF; RETURN NEW; END $$;
	CREATE TRIGGER r BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION r()`

// otherColumns are those of the table besides the four that it always has.
const otherColumns = `SELECT COALESCE(string_agg(column_name, ',' ORDER BY ordinal_position), '') FROM information_schema.columns
	WHERE table_name = 'users' AND column_name NOT IN ('id', 'name', 'email', 'created_at')`

const (
	noTable         = `relation "users" does not exist`
	noColumnOfAView = "the table users cannot be served: it is not an ordinary table"
	sameEmail       = `duplicate key value violates unique constraint \"users_email_nocase\"`
)
