package postgres

// The server and the table.
const (
	serverVersion  = "SELECT current_setting('server_version_num')::int8"
	serverEncoding = "SELECT current_setting('server_encoding')"
	tableSize      = "SELECT pg_total_relation_size(to_regclass('users'))"

	// tableExists reads pg_class as well, because only a statement that opens a table makes the session notice what
	// others have committed to the catalog meanwhile.
	tableExists  = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users'))"
	anyUser      = "SELECT EXISTS (SELECT FROM users)"
	columnExists = `SELECT EXISTS (SELECT FROM pg_attribute
		WHERE attrelid = to_regclass('users') AND attname = $1 AND attnum > 0 AND NOT attisdropped)`

	// ignoresCase is true of the index i, called index, with which emails that differ only in the case of ASCII letters are
	// the same; a is the column. It compares the tree that PostgreSQL keeps of the expression lower(email COLLATE "C"):
	// pg_get_expr would wait for the lock of the table. 870 is lower, 950 is "C", and 401 makes text of a char.
	ignoresCase = `(index.relname = 'users_email_nocase' AND a.attname = 'email' AND i.indisunique AND i.indpred IS NULL
		AND i.indnkeyatts = 1 AND i.indexprs::text ~ ('^[(][{]FUNCEXPR :funcid 870 [^{}]*:inputcollid 950 :args [(]' ||
		'[{]COLLATEEXPR :arg ([{]RELABELTYPE :arg |[{]FUNCEXPR :funcid 401 [^{}]*)?[{]VAR :varno 1 :varattno ' || a.attnum || ' '))`

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
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = 'email'
		WHERE n.nspname = $1 AND t.relname = $2 AND index.relname = $3 AND i.indisunique AND i.indnkeyatts = 1
		AND (i.indkey[0] = a.attnum OR ` + ignoresCase + `)
		AND (t.oid = to_regclass('users') OR to_regclass('users') IN (SELECT pg_partition_ancestors(t.oid))))`

	// findCaseIndex asks for the name of the index that ignores the case of emails, and whether it is valid.
	findCaseIndex = `SELECT i.indexrelid::regclass::text, i.indisvalid FROM pg_index i
		JOIN pg_class index ON index.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid
		WHERE i.indrelid = to_regclass('users') AND ` + ignoresCase

	// findSearchIndexes asks for the names of indexes of searches, and whether they are valid.
	findSearchIndexes = `SELECT i.indexrelid::regclass::text, i.indisvalid FROM pg_index i
		JOIN pg_class index ON index.oid = i.indexrelid WHERE i.indrelid = to_regclass('users') AND index.relname %s`
	schemaOfTrigrams = `SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = 'pg_trgm'`

	// isFinishing asks whether a session has changed what the catalog says of an index of users, and has not committed that
	// yet. A build does so after it has released the lock of the table.
	isFinishing = `SELECT EXISTS (SELECT FROM pg_index i JOIN pg_locks l ON l.locktype = 'transactionid' AND l.transactionid = i.xmax
		AND l.granted WHERE i.indrelid = to_regclass('users'))`

	// holder names the oldest transaction that holds a lock of the table, or of one of its partitions.
	holder = withParts + `SELECT CASE WHEN l.pid IS NULL THEN 'a prepared transaction' ELSE
			format('the session with the process id %s (%s), whose transaction began %s s ago', l.pid,
				concat_ws(', user ', COALESCE(NULLIF(s.application_name, ''), s.backend_type), s.usename),
				extract(epoch FROM clock_timestamp() - s.xact_start)::int8) END
		FROM pg_locks l JOIN parts p ON p.id = l.relation LEFT JOIN pg_stat_activity s ON s.pid = l.pid
		WHERE l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		ORDER BY s.xact_start LIMIT 1`

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
	// which does not name the transactions under way, unless the primary was asked for them; under row security, where visibility depends on more than commits;
	// for data outside this server's log: a view, a foreign table, an unlogged or temporary table, or a table with such a
	// part; and where transactions are not PostgreSQL's own: YugabyteDB, Citus, and tables of a kind other than heap.
	cacheable = withParts + `
		SELECT ($1::bool OR NOT pg_is_in_recovery()) AND NOT COALESCE(row_security_active(to_regclass('users')), false)
			AND version() NOT LIKE '%-YB-%' AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')
			AND NOT EXISTS (
				SELECT FROM pg_class c JOIN parts p ON c.oid = p.id LEFT JOIN pg_am a ON a.oid = c.relam
				WHERE c.relkind NOT IN ('r', 'p') OR c.relpersistence <> 'p' OR c.relkind = 'r' AND a.amname <> 'heap')`
)

// describeTable asks for the columns of users with the names of the types behind them, for the unique indexes on one
// of them alone, for everything else that decides whether the table can be served, whether changes are recorded, and whether
// there is an index for searches.
var describeTable = `SELECT a.attname::text, COALESCE(b.typname, t.typname)::text,
	format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), -1), a.attgenerated <> '',
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary
		AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
	EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
		AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
	EXISTS (SELECT FROM pg_index i JOIN pg_class index ON index.oid = i.indexrelid WHERE i.indrelid = c.oid
		AND i.indisvalid AND ` + ignoresCase + `),
	c.oid, c.relkind::text, COALESCE((SELECT min(rulename::text) FROM pg_rewrite WHERE ev_class = c.oid), ''),
	c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
	(SELECT ` + records() + ` FROM pg_class u WHERE oid = to_regclass('users')),
	EXISTS (SELECT FROM pg_index i JOIN pg_class index ON index.oid = i.indexrelid
		WHERE i.indrelid = c.oid AND i.indisvalid AND index.relname LIKE 'users\_search\_%')
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
	WHERE c.oid = to_regclass('users') AND a.attnum > 0 AND NOT a.attisdropped`
