package sqlite

import (
	"sync/atomic"

	"github.com/glebarez/sqlite"

	"users-api/models"
	"users-api/models/statements"
)

// dialect is what SQLite's statements on users have of their own. A LIMIT without the addition would make SQLite compile
// the statement again for each number. lower folds only ASCII letters; LIKE takes two thirds of the time, but stops at a
// NUL in a name, and a version that handles those takes as long.
func dialect() statements.Dialect {
	return statements.Dialect{
		Dialector: sqlite.Open(""),
		Text:      "%s", Time: "%s", ID: "id",
		Number: "?", Limit: "? + 0",
		Contains: "instr(lower(%s), lower(?))", SameIgnoringCase: "%s = ? COLLATE NOCASE",
		Now: "CURRENT_TIMESTAMP",
		Found: "(SELECT rowid AS id FROM users_search WHERE users_search MATCH ? " +
			"AND rowid NOT IN (SELECT id FROM users_search_written))",
		Written: "users_search_written",
	}
}

// queries are the statements on users, which every connection compiles when it first runs them.
type queries struct {
	*statements.Statements
	fields models.Fields
	// recording: changes were recorded when a connection last looked at the schema.
	recording atomic.Bool
	// unindexed: a search has found many users who were written since they were indexed.
	unindexed atomic.Bool
}

func newQueries(fields models.Fields) (*queries, error) {
	built, err := statements.Build(dialect(), fields)
	return &queries{Statements: built, fields: fields}, err
}

// matching returns the values for the parts of a query that decide which users match. SQLite compares them with the affinity
// of a column (sqlite.org/datatype3.html#type_conversions_prior_to_comparison). Another program may have stored numbers in a
// column without a type, or blobs: they are shown as texts, and searches find them, but no filter does. A filter of a column
// of numbers finds 7 by 007, too.
func (q *queries) matching(query models.Query) []any {
	return q.Matching(query, func(contains string) string { return contains })
}
