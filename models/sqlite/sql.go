package sqlite

// This file holds the SQL that GORM cannot express. What concerns any database file is in package dbfile.

// Transactions.
const (
	beginRead  = "BEGIN DEFERRED"
	beginWrite = "BEGIN IMMEDIATE" // takes the write lock
	commit     = "COMMIT"
	rollBack   = "ROLLBACK"

	savepoint  = "SAVEPOINT one_write"
	release    = "RELEASE one_write"
	rollBackTo = "ROLLBACK TO one_write"
)

// The -wal file, and the memory of a connection.
const (
	noCheckpoints = "PRAGMA wal_autocheckpoint(0)"
	checkpointAs  = "PRAGMA wal_checkpoint(%s)" // NOOP, PASSIVE, RESTART or TRUNCATE
	emptyWAL      = "PRAGMA wal_checkpoint(TRUNCATE)"
	waitBriefly   = "PRAGMA busy_timeout(50)"
	setCache      = "PRAGMA cache_size = %v; "
	shrinkMemory  = "PRAGMA shrink_memory; "
)

// The table.
const (
	ignoreEmailCase = "CREATE UNIQUE INDEX users_email_nocase ON users (email COLLATE NOCASE)"
	// sameEmails are the users who have the same email as another one, in any letter case.
	sameEmails = `SELECT id FROM users WHERE email COLLATE NOCASE IN
			(SELECT email FROM users WHERE email IS NOT NULL GROUP BY email COLLATE NOCASE HAVING count(*) > 1)
		ORDER BY email COLLATE NOCASE, id`

	anyTable = "SELECT count(*) FROM sqlite_master WHERE name = 'users' COLLATE NOCASE AND type IN ('table', 'view')"
	// setVersion rewrites a value.
	setVersion    = "PRAGMA user_version = %s"
	schemaVersion = "PRAGMA schema_version"
	// highestGiven is the highest id ever given. Without the table, ids are not remembered.
	highestGiven = "SELECT max(seq) FROM sqlite_sequence WHERE name = 'users' COLLATE NOCASE"

	// describeTable asks why the table users cannot be served, whether there are triggers or ON CONFLICT clauses, and
	// whether a unique index is on email alone, and one of those is users_email_nocase: others of other programs change
	// nothing. An INTEGER PRIMARY KEY is the rowid if no index stands behind it (sqlite.org/lang_createtable.html#rowid).
	describeTable = `WITH on_email AS (
			SELECT lower(i.name) = 'users_email_nocase' AND upper(max(c.coll)) = 'NOCASE' AS ignores_case
			FROM pragma_index_list('users') AS i JOIN pragma_index_xinfo(i.name) AS c ON c.key
			WHERE i."unique" AND NOT i.partial GROUP BY i.name HAVING count(*) = 1 AND lower(max(c.name)) = 'email')
		SELECT
		CASE
			WHEN l.type = 'view' THEN 'it is a view'
			WHEN l.type <> 'table' THEN 'it is a ' || l.type || ' table'
			WHEN l.wr THEN 'it was created WITHOUT ROWID'
			WHEN (SELECT group_concat(lower(name) || upper(type)) FROM pragma_table_info('users') WHERE pk > 0) IS NOT 'idINTEGER'
				OR EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk') THEN 'its id is no INTEGER PRIMARY KEY'
		END,
		EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name = 'users' COLLATE NOCASE AND (type = 'trigger' OR sql LIKE '%conflict%')),
		EXISTS (SELECT 1 FROM on_email),
		EXISTS (SELECT 1 FROM on_email WHERE ignores_case)
		FROM pragma_table_list('users') AS l`
	columnNames = "SELECT name FROM pragma_table_xinfo('users')" // generated columns, too
)
