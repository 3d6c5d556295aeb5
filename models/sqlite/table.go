package sqlite

import (
	"fmt"
	"strings"
	"time"

	"users-api/models"
)

// table is what must be known about the table users, which another program may have created.
type table struct {
	// rules: there are triggers, or constraints with an ON CONFLICT clause. Then a refused statement may leave a trace,
	// and a successful one may change users other than the one it names.
	rules bool
	// lookup: an index finds the one user who has an email.
	lookup bool
}

// known is what a connection knows about the table users, and the schema version for which it holds.
type known struct {
	table   table
	schema  int64
	checked time.Time // zero if the table cannot be served
}

// users returns what is known about the table users, or why it cannot be served. It is called at the beginning of each
// transaction that writes, and the result holds until its end: another program may replace the table between two.
func (q *queries) users(conn connection) (table, error) {
	schema, _, err := conn.number("PRAGMA schema_version")
	if err != nil {
		return table{}, err
	}
	now := time.Now()
	if !conn.known.checked.IsZero() && schema == conn.known.schema {
		conn.known.checked = now
		return conn.known.table, nil
	}
	described, err := q.describe(conn)
	*conn.known = known{described, schema, now}
	if err != nil {
		*conn.known = known{}
	}
	return described, err
}

// checkEvery is how often a connection that reads checks the table. Each check takes a fifteenth of the time to read a
// user by id.
const checkEvery = time.Second

// check returns an error while the table cannot be served.
func (q *queries) check(conn connection) error {
	if time.Since(conn.known.checked) < checkEvery {
		return nil
	}
	_, err := q.users(conn)
	return err
}

// describeTable asks why the table users cannot be served, and whether there are triggers, ON CONFLICT clauses, and an
// index on email alone. An INTEGER PRIMARY KEY is the rowid if no index stands behind it
// (sqlite.org/lang_createtable.html#rowid).
const describeTable = `SELECT
	CASE
		WHEN l.type = 'view' THEN 'it is a view'
		WHEN l.type <> 'table' THEN 'it is a ' || l.type || ' table'
		WHEN l.wr THEN 'it was created WITHOUT ROWID'
		WHEN (SELECT group_concat(lower(name) || upper(type)) FROM pragma_table_info('users') WHERE pk > 0) IS NOT 'idINTEGER'
			OR EXISTS (SELECT 1 FROM pragma_index_list('users') WHERE origin = 'pk') THEN 'its id is no INTEGER PRIMARY KEY'
	END,
	EXISTS (SELECT 1 FROM sqlite_schema WHERE tbl_name = 'users' COLLATE NOCASE AND (type = 'trigger' OR sql LIKE '%conflict%')),
	EXISTS (SELECT 1 FROM pragma_index_list('users') AS i WHERE i."unique" AND NOT i.partial
		AND (SELECT group_concat(lower(name)) FROM pragma_index_info(i.name)) = 'email')
	FROM pragma_table_list('users') AS l`

func (q *queries) describe(conn connection) (t table, err error) {
	exists, why := false, ""
	err = conn.query(func(r row) error {
		exists = true
		why, _ = r.text(0)
		t = table{rules: r.number(1) == 1, lookup: r.number(2) == 1}
		return nil
	}, describeTable)
	switch {
	case err != nil:
		return t, err
	case why != "":
		return t, cannotServe(why)
	case exists:
		return t, q.compileWrites(conn)
	}
	return t, nil // each statement will say that there is no table
}

// compileWrites compiles the statements that write, and with them the table's triggers. That fails if a column is
// missing, or if a trigger has text in double quotes, which this connection takes for a column.
func (q *queries) compileWrites(conn connection) error {
	for _, text := range []string{q.Insert, q.Update(q.fields.All()), q.Delete} {
		statement, _, err := conn.sqlite.PrepareTransient(text)
		if primaryCode(failure(err)) == codeError {
			verb, _, _ := strings.Cut(text, " ")
			return cannotServe(fmt.Sprintf("SQLite cannot compile %s with its triggers: %v", verb, failure(err)))
		}
		if err != nil {
			return failure(err)
		}
		_ = statement.Finalize() // it has not run
	}
	return nil
}

// cannotServe says why the table users cannot be served, and what to do.
func cannotServe(why string) error {
	const what = "the table users cannot be served"
	return &models.StorageError{
		Text: what + ": " + why + "; make it an ordinary table with id INTEGER PRIMARY KEY whose columns and triggers " +
			"SQLite can compile, or set DATA_DIR to another directory",
		Meaning: what,
	}
}
