package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"users-api/models"
)

// The index of searches is the table users_search: FTS5 with the three characters at each place of each field, folded like
// the texts that a search compares, and no texts. It has no positions, so what it finds is compared again.
//
// Triggers write the id of each user whom any program writes into users_search_written. Searches look at these users, too,
// until they are indexed: many at once, because FTS5 needs ten times as long for one in each statement. So the program
// that writes need not know FTS5, and the triggers use nothing newer than SQLite 3.8.
//
// REPLACE removes users without the triggers of deletions. Their ids may stay in the index, which then finds no user, or
// one who was created with the id and is compared.
const (
	searchTable  = "CREATE VIRTUAL TABLE users_search USING fts5(%s, content='', contentless_delete=1, detail=none, %s)"
	tokenizer    = "tokenize='trigram case_sensitive 1'"
	writtenTable = "CREATE TABLE users_search_written (id INTEGER PRIMARY KEY)"
)

// indexTriggers returns the triggers that note which users are written. OR IGNORE would not do: the conflict clause of
// the statement that fires a trigger takes its place.
func indexTriggers() []trigger {
	note := func(id string) string {
		return fmt.Sprintf("INSERT INTO users_search_written SELECT %[1]s WHERE NOT EXISTS "+
			"(SELECT 1 FROM users_search_written WHERE id = %[1]s)", id)
	}
	return []trigger{
		{"users_search_created", "AFTER INSERT ON users BEGIN " + note("new.id")},
		{"users_search_changed", "AFTER UPDATE ON users BEGIN " + note("old.id") + "; " + note("new.id")},
		{"users_search_deleted", "AFTER DELETE ON users BEGIN " + note("old.id")},
	}
}

// indexStatements returns the statements that make the index. No field's name is one that FTS5 reserves, or begins with
// an underscore.
func (q *queries) indexStatements() []string {
	columns := "_" + strings.Join(q.fields.Names(), ", _")
	statements := []string{fmt.Sprintf(searchTable, columns, tokenizer), writtenTable}
	for _, trigger := range indexTriggers() {
		statements = append(statements, trigger.create())
	}
	return statements
}

// indexSome returns the statement that indexes the users with some of the lowest ids that were written.
func (q *queries) indexSome() string {
	var folded []string
	for _, name := range q.fields.Names() {
		folded = append(folded, fmt.Sprintf(`lower("%s")`, name))
	}
	return fmt.Sprintf("INSERT INTO users_search (rowid, _%s) SELECT id, %s FROM users "+
		"WHERE id IN (SELECT id FROM users_search_written ORDER BY id LIMIT ? + 0)",
		strings.Join(q.fields.Names(), ", _"), strings.Join(folded, ", "))
}

// hasIndex reports whether there is an index for the fields: all of it is as this program makes it, and has recorded each
// write.
func (c *connection) hasIndex() (bool, error) {
	statements, err := storedStatements(c.Connection, storedIndex)
	isMissing := func(statement string) bool { return !statements[statement] }
	if err != nil || slices.ContainsFunc(c.indexStatements(), isMissing) {
		return false, err
	}
	complete, _, err := c.Number(isComplete)
	return complete == 1, err
}

// IndexSearch creates the index of searches in the database at path, for fields, beside running services, and indexes all
// users in many short transactions. If it is stopped, services index the rest: see [writer.indexWritten]. Progress may be
// nil.
func IndexSearch(ctx context.Context, path string, fields models.Fields, progress func(done, total int64)) error {
	var step func(*connection) (more bool, err error)
	total := int64(0)
	step = func(conn *connection) (bool, error) {
		err := conn.makeIndex()
		if err == nil {
			total, _, err = conn.Number(someWritten, int64(math.MaxInt64))
		}
		done := int64(0)
		step = func(conn *connection) (bool, error) {
			if exists, err := conn.hasIndex(); err != nil || !exists {
				return false, cmp.Or(err, errors.New("the index was removed, or the table users was changed, while it was made"))
			}
			more, err := conn.index()
			if done = min(total, done+indexStep); progress != nil {
				progress(done, total)
			}
			return more, err
		}
		return true, err
	}
	return changeInSteps(ctx, path, fields, func(conn *connection) (bool, error) { return step(conn) })
}

// makeIndex makes the index, if it is not there. All users are still to be indexed then.
func (c *connection) makeIndex() error {
	if err := c.expectAdded(); err != nil {
		return err
	}
	exists, err := c.hasIndex()
	if err != nil || exists {
		return err
	}
	if err := c.dropIndex(); err != nil {
		return err
	}
	return c.Script(strings.Join(append(c.indexStatements(), allWritten), "; "))
}

// DropSearchIndex removes the index of searches.
func DropSearchIndex(ctx context.Context, path string) error {
	return changeTable(ctx, path, (*connection).dropIndex)
}

func (c *connection) dropIndex() error {
	foreign, _, err := c.Number(isForeignIndex)
	if err == nil && foreign == 1 {
		err = errors.New("users_search or users_search_written is another program's: rename it")
	}
	if err != nil {
		return err
	}
	return c.Script(dropTriggers(indexTriggers()) +
		"DROP TABLE IF EXISTS users_search; DROP TABLE IF EXISTS users_search_written")
}

// indexStep is how many users are indexed in one commit.
const indexStep = 256

// index indexes some of the users who were written, and reports whether more may be left.
func (c *connection) index() (more bool, err error) {
	for _, statement := range []string{forgetSome, c.indexSome(), noneWritten} {
		done, err := c.Exec(statement, int64(indexStep))
		if err != nil {
			return false, err
		}
		more = done.Rows == indexStep
	}
	return more, nil
}
