package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// This file holds the SQL that GORM cannot express. The columns of users come from the table of fields, and their
// values arrive as one array for each field. What stands beside the columns of fields begins with an underscore, because
// no field's name does.

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func columns(fields models.Fields) string {
	names := fields.Names()
	for i, name := range names {
		names[i] = quoted(name)
	}
	return strings.Join(names, ", ")
}

// textArrays returns the parameters from first to last, which are arrays of texts.
func textArrays(first, last int) string {
	var arrays []string
	for n := first; n <= last; n++ {
		arrays = append(arrays, fmt.Sprintf("$%d::text[]", n))
	}
	return strings.Join(arrays, ", ")
}

// ignoredMark is in the error of a statement if a trigger ignored one of its rows.
const ignoredMark = "a trigger of users ignored what was to be stored; rows: "

// whole wraps a statement that writes and returns rows: it fails, and has done nothing, if it returns fewer rows than
// expected, because a BEFORE trigger returned NULL for one of them. The expected number is an expression. The cast is
// what fails; its operand is not a constant, which PostgreSQL would evaluate while it plans.
func whole(statement, expected string) string {
	return fmt.Sprintf("WITH written AS (%s) SELECT * FROM written WHERE "+
		"(SELECT CASE WHEN count(*) = %s THEN true ELSE ('%s' || count(*))::bool END FROM written)", statement, expected, ignoredMark)
}

// wholeUser is [whole] for a statement on the user whose id is a parameter.
func wholeUser(statement string, id int) string {
	return whole(statement, fmt.Sprintf("(SELECT count(*) FROM users WHERE id = $%d::int8)", id))
}

// insertUsers creates users and returns their ids in the same order. The time is named because a table that another
// program created may have no default for it.
func insertUsers(fields models.Fields, now string) string {
	names, values := columns(fields), columns(fields)
	if now != "" {
		names, values = names+", created_at", values+", "+now
	}
	return whole(fmt.Sprintf("INSERT INTO users (%s) SELECT %s FROM unnest(%s) WITH ORDINALITY AS _new (%s, _place) "+
		"ORDER BY _place RETURNING id::int8", names, values, textArrays(1, len(fields)), columns(fields)), "cardinality($1)")
}

func updateUsers(fields models.Fields) string {
	var set []string
	for _, field := range fields {
		set = append(set, fmt.Sprintf("%s = _new.%[1]s", quoted(field.Name)))
	}
	return fmt.Sprintf("UPDATE users SET %s FROM unnest($1::int8[], %s) AS _new (id, %s) WHERE users.id = _new.id",
		strings.Join(set, ", "), textArrays(2, 1+len(fields)), columns(fields))
}

// findByEmail finds the ids and fields of the users who have certain emails, each with the place of the email. LIMIT
// keeps the planner from turning the lookups into a join of all users. Lock is what keeps others from changing them.
func findByEmail(fields models.Fields, t table, lock string) string {
	texts, same := "", "email = _sent.email::%s"
	for _, field := range fields {
		texts += fmt.Sprintf(", %s::text", quoted(field.Name))
	}
	if t.emails.IgnoresCase {
		same = `lower(email COLLATE "C") = lower(_sent.email::%s COLLATE "C")`
	}
	return fmt.Sprintf("SELECT _found.*, _place FROM unnest($1::text[]) WITH ORDINALITY AS _sent (email, _place), "+
		"LATERAL (SELECT id%s FROM users WHERE "+same+" LIMIT 1"+lock+") AS _found", texts, t.emailType)
}

// What an import deletes, and whether it is gone.
const (
	deleteUsers = "DELETE FROM users WHERE id = ANY($1::int8[])"
	leftOfThem  = "SELECT count(*) FROM users WHERE id = ANY($1::int8[])"
)

// copyUsers stores whole users, as COPY reads them.
func copyUsers(fields models.Fields) string {
	return fmt.Sprintf("COPY users (id, %s, created_at) FROM STDIN", columns(fields))
}

func insertCopies(fields models.Fields, timeType string) string {
	return fmt.Sprintf("INSERT INTO users (id, %s, created_at) OVERRIDING SYSTEM VALUE SELECT id, %[1]s, created_at::%s "+
		"FROM unnest($1::int8[], %s) AS _new (id, %[1]s, created_at)", columns(fields), timeType, textArrays(2, len(fields)+2))
}

// Transactions. Nothing outlives one, because behind a pooler no session has it: the settings of a session are part of
// the transactions that write.
const (
	beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '" + lockTime +
		"'; SET LOCAL client_min_messages = 'warning'"
	beginRead     = "BEGIN ISOLATION LEVEL READ COMMITTED;"
	beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
	noTimeouts    = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;"
	rollBack      = "ROLLBACK"

	savepoint  = "SAVEPOINT step"
	release    = "RELEASE step"
	rollBackTo = "ROLLBACK TO step; RELEASE step"

	// lockUser makes a query for a user lock it.
	lockUser = " FOR UPDATE"
	// keepEmail makes a query for users lock them so that they keep their emails, and are not deleted.
	keepEmail = " FOR NO KEY UPDATE"
	// lockTable must come before anything that takes a snapshot: see [reader.inSnapshot].
	lockTable = "LOCK TABLE users IN ACCESS SHARE MODE;"
	// keepPath makes the rest of a transaction find the table that it has locked: a reloaded configuration changes the
	// search path between two messages, even of one transaction.
	keepPath = "SELECT set_config('search_path', current_setting('search_path'), true)"

	// immediately makes PostgreSQL check the constraints of a transaction after each statement, so that a row that
	// violates one is refused by itself, in a dry run too.
	immediately = "SET CONSTRAINTS ALL IMMEDIATE"
	// lockOut keeps all others from writing to the table.
	lockOut = immediately + "; SET LOCAL lock_timeout = '10s'; LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"

	// takeTurn waits for a lock that ends with its transaction. Its number is that of what takes turns, in ASCII.
	takeTurn   = "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(%d)"
	createLock = 0x7573657273 // users
	importLock = 0x66696c6573 // files
	// prepareImport begins with a lock that only a change of the table waits for. The planner relies on what it knew
	// about the table when the import began; a scan of all users for each chunk would take hours, so it is told to use
	// the index. From here on another program may hold a lock while the import holds its own: the import waits 5 s.
	prepareImport = immediately + "; SET LOCAL lock_timeout = '5s'; LOCK TABLE users IN ROW EXCLUSIVE MODE; " +
		"SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL jit = off"
)

// Changes of the schema, beside running services.
const (
	// lockSchema begins with a lock that only other changes, and VACUUM, wait for. What comes after it may need a lock that
	// everything waits for: so it waits for no more than half a second itself.
	lockSchema = "SET LOCAL lock_timeout = '5s'; LOCK TABLE users IN SHARE UPDATE EXCLUSIVE MODE; SET LOCAL lock_timeout = '500ms'"

	beginTurn = beginRead + "SET LOCAL idle_in_transaction_session_timeout = 0;"
	tryTurn   = "SELECT pg_try_advisory_xact_lock(x'63617365'::int8)" // case, in ASCII

	setNoTimeouts = "SET statement_timeout = 0; SET lock_timeout = 0"
	// folded is what a search compares of a column.
	folded = `lower(%s::text COLLATE "C")`
	// createSearchIndex lets the index collect 512 kB before a creation sorts them into it, and waits for that. Of creations by 64
	// clients, p99 is 16 ms then, and 46 ms with PostgreSQL's 4 MB, at the same rate. Without collecting, it is 26 ms at 0.4 of it.
	createSearchIndex = "CREATE INDEX CONCURRENTLY %s ON users USING gin (%s %s.gin_trgm_ops) WITH (gin_pending_list_limit = 512)"
	createTrigrams    = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
	withoutIndex      = "SET LOCAL enable_bitmapscan = off"

	createCaseIndex = `CREATE UNIQUE INDEX CONCURRENTLY users_email_nocase ON users (lower(email COLLATE "C"))`

	// sameEmails are the users whose emails differ only in the case of ASCII letters, those with one email together.
	sameEmails = `SELECT u.id::int8 FROM users u JOIN (
			SELECT lower(email COLLATE "C") AS email, min(id) AS first FROM users
			GROUP BY 1 HAVING count(*) > 1 ORDER BY first LIMIT $1::int8) AS same ON lower(u.email COLLATE "C") = same.email
		ORDER BY same.first, u.id LIMIT $1::int8`
)

// Sessions.
const (
	askSession = `SELECT pg_backend_pid(), current_setting('default_transaction_isolation') = 'read committed'
		AND current_setting('statement_timeout') = '0' AND current_setting('lock_timeout') = '0'`

	// setSession skips what the URL sets, and what the version of the server does not know.
	setSession = `SELECT set_config(name, value, false) FROM (VALUES ('default_transaction_isolation', 'read committed'),
			('statement_timeout', '0'), ('lock_timeout', '` + lockTime + `'), ('transaction_timeout', '0'),
			('client_min_messages', 'warning')) AS defaults (name, value)
		WHERE current_setting(name, true) IS NOT NULL AND name <> ALL ($1::text[])`
)
