package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// This file holds the SQL that GORM cannot express. The columns of users come from the table of fields, and their
// values arrive as one array for each field.

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
	return whole(fmt.Sprintf("INSERT INTO users (%s) SELECT %s FROM unnest(%s) WITH ORDINALITY AS n (%s, _place) ORDER BY _place "+
		"RETURNING id::int8", names, values, textArrays(1, len(fields)), columns(fields)), "cardinality($1)")
}

func updateUsers(fields models.Fields) string {
	var set []string
	for _, field := range fields {
		set = append(set, fmt.Sprintf("%s = n.%[1]s", quoted(field.Name)))
	}
	return fmt.Sprintf("UPDATE users SET %s FROM unnest($1::int8[], %s) AS n (id, %s) WHERE users.id = n.id",
		strings.Join(set, ", "), textArrays(2, 1+len(fields)), columns(fields))
}

// findByEmail finds the ids and fields of the users who have certain emails, each with the place of the email. LIMIT
// keeps the planner from turning the lookups into a join of all users.
func findByEmail(fields models.Fields, emailType string) string {
	texts := ""
	for _, field := range fields {
		texts += fmt.Sprintf(", %s::text", quoted(field.Name))
	}
	return fmt.Sprintf("SELECT u.*, n.ordinality FROM unnest($1::text[]) WITH ORDINALITY AS n (email), "+
		"LATERAL (SELECT id%s FROM users WHERE email = n.email::%s LIMIT 1) AS u", texts, emailType)
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
		"FROM unnest($1::int8[], %s) AS n (id, %[1]s, created_at)", columns(fields), timeType, textArrays(2, len(fields)+2))
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

// The server and the table.
const (
	serverVersion  = "SELECT current_setting('server_version_num')::int8"
	serverEncoding = "SELECT current_setting('server_encoding')"
	tableSize      = "SELECT pg_total_relation_size(to_regclass('users'))"

	// tableExists reads pg_class as well, because only a statement that opens a table makes the session notice what
	// others have committed to the catalog meanwhile.
	tableExists = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users'))"
	anyUser     = "SELECT EXISTS (SELECT FROM users)"

	// describeTable asks for the columns of users with the names of the types behind them, for the unique indexes on one
	// of them alone, and for everything else that decides whether the table can be served.
	describeTable = `SELECT a.attname::text, COALESCE(b.typname, t.typname)::text,
		format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), -1), a.attgenerated <> '',
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
		EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
			AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
		c.oid, c.relkind::text, COALESCE((SELECT min(rulename::text) FROM pg_rewrite WHERE ev_class = c.oid), ''),
		c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
		WHERE c.oid = to_regclass('users') AND a.attnum > 0 AND NOT a.attisdropped`

	// missingRights are what this user may not do with the table. A snapshot locks the table, which needs the right to
	// read all of it. A column of type serial takes its ids from a sequence with rights of its own.
	missingRights = `SELECT concat_ws(', ',
		CASE WHEN NOT has_table_privilege(o, 'SELECT') THEN 'SELECT' END,
		CASE WHEN NOT has_any_column_privilege(o, 'INSERT') THEN 'INSERT' END,
		CASE WHEN NOT has_any_column_privilege(o, 'UPDATE') THEN 'UPDATE' END,
		CASE WHEN NOT has_table_privilege(o, 'DELETE') THEN 'DELETE' END,
		CASE WHEN NOT has_sequence_privilege(pg_get_serial_sequence('users', 'id'), 'USAGE') AND EXISTS (SELECT FROM pg_attribute
			WHERE attrelid = o AND attname = 'id' AND attidentity = '') THEN 'USAGE of its sequence' END)
		FROM (SELECT to_regclass('users')::oid AS o) AS users`

	// onEmail asks whether a unique index, of the table or of one of its partitions, is on the email alone. A constraint
	// that a trigger has violated elsewhere is not.
	onEmail = `SELECT EXISTS (SELECT FROM pg_index i
		JOIN pg_class index ON index.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
		JOIN pg_namespace n ON n.oid = t.relnamespace
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attname = 'email'
		WHERE n.nspname = $1 AND t.relname = $2 AND index.relname = $3 AND i.indisunique AND i.indnkeyatts = 1
		AND (t.oid = to_regclass('users') OR to_regclass('users') IN (SELECT pg_partition_ancestors(t.oid))))`

	// idSequence finds what gives the ids: the sequence that the column owns, or the one that its default uses.
	idSequence = `SELECT COALESCE(pg_get_serial_sequence(to_regclass('users')::text, 'id'),
		(SELECT s.oid::regclass::text FROM pg_attrdef f
			JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attname = 'id'
			JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass
			JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S' WHERE f.adrelid = to_regclass('users')), '')`
	raiseSequence = "SELECT setval($1::text::regclass, greatest($2::int8, COALESCE(pg_sequence_last_value($1::text::regclass), 0)))"

	// withParts names the table and its partitions.
	withParts = `WITH RECURSIVE parts (id) AS (
		SELECT to_regclass('users')::oid
		UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts p ON i.inhparent = p.id) `
	unlogged = withParts + "SELECT EXISTS (SELECT FROM pg_class c JOIN parts p ON c.oid = p.id WHERE c.relpersistence = 'u')"

	// incarnation is what a server says about itself, as one text. The package comment explains why two equal texts mean
	// that nothing was committed in between. Prepared and from one client, it takes 32 to 44 µs, and the snapshot alone
	// 25 to 30. It includes the database and the table because a pooler or a changed search path may lead to others.
	incarnation = "SELECT concat_ws(' ', pg_current_snapshot(), pg_postmaster_start_time(), " +
		"(SELECT checkpoint_lsn FROM pg_control_checkpoint()), current_database(), to_regclass('users')::oid)"

	// cacheable asks whether the argument in the package comment holds for the table. It does not hold on a standby,
	// which does not name the transactions under way; under row security, where visibility depends on more than commits;
	// for data outside this server's log: a view, a foreign table, an unlogged or temporary table, or a table with such a
	// part; and where transactions are not PostgreSQL's own: YugabyteDB, Citus, and tables of a kind other than heap.
	cacheable = withParts + `
		SELECT NOT pg_is_in_recovery() AND NOT COALESCE(row_security_active(to_regclass('users')), false)
			AND version() NOT LIKE '%-YB-%' AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
			AND NOT EXISTS (
				SELECT FROM pg_class c JOIN parts p ON c.oid = p.id LEFT JOIN pg_am a ON a.oid = c.relam
				WHERE c.relkind NOT IN ('r', 'p') OR c.relpersistence <> 'p' OR c.relkind = 'r' AND a.amname <> 'heap')`
)
