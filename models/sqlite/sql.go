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
		EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name = 'users' COLLATE NOCASE AND sql LIKE '%conflict%'),
		(SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'users' COLLATE NOCASE AND type = 'trigger'),
		EXISTS (SELECT 1 FROM on_email),
		EXISTS (SELECT 1 FROM on_email WHERE ignores_case)
		FROM pragma_table_list('users') AS l`
	columnNames = "SELECT name FROM pragma_table_xinfo('users')" // generated columns, too
)

// The feed of changes: see feed_table.go.
const (
	storedFeed = "SELECT sql FROM sqlite_schema " +
		"WHERE name = 'users_changes' OR type = 'trigger' AND name LIKE 'users_changes_%'"
	feedEnds     = "SELECT (SELECT min(cursor) FROM users_changes), (SELECT max(cursor) FROM users_changes)"
	feedStats    = "SELECT (SELECT max(cursor) FROM users_changes) - cursor, at FROM users_changes ORDER BY cursor LIMIT 1"
	changesAfter = "SELECT cursor, op, id, datetime(at / 1000, 'unixepoch') FROM users_changes " +
		"WHERE cursor > ? AND op <> 'begin' ORDER BY cursor LIMIT ? + 0"
	// describeFeed asks for the query that finds the users whom REPLACE would remove: they have the values of the new user in
	// a unique index, for which its default counts where the new one has NULL. SQLite 3.40 confuses collations in a query
	// with OR. It also asks whether REPLACE removes users whom no such query finds, and whether a trigger that is newer
	// than ours, and so runs before them, may end a write so that they do not run.
	describeFeed = `WITH keys AS (
			SELECT i.name AS name, max(i.partial OR c.name IS NULL) AS no_columns,
				group_concat(printf('"%w" = %s COLLATE "%w"', c.name, CASE WHEN t."notnull" AND t.dflt_value IS NOT NULL
					THEN printf('ifnull(new."%w", %s)', c.name, t.dflt_value) ELSE printf('new."%w"', c.name) END, c.coll),
					' AND ' ORDER BY c.seqno) AS same
			FROM pragma_index_list('users') AS i JOIN pragma_index_xinfo(i.name) AS c ON c.key
				LEFT JOIN pragma_table_xinfo('users') AS t ON t.cid = c.cid
			WHERE i."unique" GROUP BY i.name)
		SELECT ifnull((SELECT group_concat('SELECT id FROM users WHERE ' || same, ' UNION ' ORDER BY name) FROM keys),
				'SELECT id FROM users WHERE 0'),
			EXISTS (SELECT 1 FROM keys WHERE no_columns),
			` + maySkip + `'users_changes_created'))`
	// maySkip asks whether a trigger that is newer than one of ours, whose name follows, may end a write before ours runs.
	maySkip = `EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users' COLLATE NOCASE
				AND (replace(sql, ' ', '') LIKE '%after%raise(ignore)%' OR replace(sql, ' ', '') LIKE '%after%raise(fail,%'
					OR sql LIKE '%after% or fail %')
				AND rowid > (SELECT rowid FROM sqlite_schema WHERE name = `
	// isForeign asks whether users_changes is another program's.
	isForeign = `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'users_changes' COLLATE NOCASE)
		AND (SELECT group_concat(name) FROM pragma_table_xinfo('users_changes')) IS NOT 'cursor,op,id,at'`
	// pruneChanges deletes from the oldest on, up to the first that is not old enough: the clock may have been set back. It
	// never deletes the newest one: the next cursor follows it.
	pruneChanges = `WITH oldest AS (SELECT cursor, at FROM users_changes ORDER BY cursor LIMIT ?)
		DELETE FROM users_changes WHERE cursor IN (SELECT cursor FROM oldest) AND cursor < coalesce(
			(SELECT min(cursor) FROM oldest WHERE at >= ?), (SELECT max(cursor) FROM users_changes))`
)

// The index of searches: see search_index.go.
const (
	storedIndex = "SELECT sql FROM sqlite_schema WHERE name IN ('users_search', 'users_search_written') " +
		"OR type = 'trigger' AND name LIKE 'users_search_%'"
	// isComplete asks whether the index has recorded every write: users is older than it, so that it is not another table
	// that got the triggers of the one before, and no trigger may keep ours from running. VACUUM keeps the order of tables.
	isComplete = `SELECT (SELECT max(rowid) FROM sqlite_schema WHERE name = 'users' COLLATE NOCASE)
		< (SELECT rowid FROM sqlite_schema WHERE name = 'users_search_data') AND NOT ` + maySkip + `'users_search_created'))`
	// isForeignIndex asks whether a name of the index is another program's.
	isForeignIndex = `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE
		name = 'users_search' COLLATE NOCASE AND sql NOT LIKE 'CREATE VIRTUAL TABLE users_search USING fts5(\_%' ESCAPE '\'
		OR name = 'users_search_written' COLLATE NOCASE AND sql <> '` + writtenTable + `')`

	allWritten  = "INSERT INTO users_search_written SELECT id FROM users"
	someWritten = "SELECT count(*) FROM (SELECT 1 FROM users_search_written LIMIT ? + 0)"
	someFound   = "SELECT count(*) FROM (SELECT 1 FROM users_search WHERE users_search MATCH ? LIMIT ? + 0)"
	// firstID is the lowest id, or the highest.
	firstID = "SELECT %s(id) FROM users"
	// forgetSome deletes from the index the users with some of the lowest ids that were written, and noneWritten says that
	// they are indexed.
	forgetSome  = "DELETE FROM users_search WHERE rowid IN (SELECT id FROM users_search_written ORDER BY id LIMIT ? + 0)"
	noneWritten = "DELETE FROM users_search_written WHERE id IN (SELECT id FROM users_search_written ORDER BY id LIMIT ? + 0)"
)
