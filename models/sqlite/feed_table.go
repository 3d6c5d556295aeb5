package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// The feed is the table users_changes, which triggers fill. One transaction writes at a time, so the keys of its rows are
// in commit order, and a key serves as a cursor. The first key is random, so that a cursor of another feed, such as that of
// a database that was restored since, is hardly ever among them.
//
// The triggers are part of the database, so the SQLite of any program that writes runs them: they use nothing newer than
// SQLite 3.8.

// thisMoment is the same for all rows of a statement (sqlite.org/lang_datefunc.html), in milliseconds since 1970.
const thisMoment = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

// feedSchema returns the statements that make the table and its triggers, as SQLite stores them. Three things need more
// than one entry for each row:
//
//   - INSERT OR REPLACE and UPDATE OR REPLACE remove users without the triggers of deletions. So before a write, those who
//     have the values of a unique index already are recorded. The id of a new user is not known then (sqlite.org/lang_createtrigger.html);
//   - the rows of a statement have the same time. Once there are too many of them, one entry takes their place;
//   - the rest of its rows add none.
func feedSchema(unique uniqueIndexes) []string {
	record := func(op models.Op, id, from string) string {
		return fmt.Sprintf("INSERT INTO users_changes (op, id, at) SELECT '%s', %s, %s%s", op, id, thisMoment, from)
	}
	created, deleted := record(models.OpCreated, "new.id", ""), record(models.OpDeleted, "old.id", "")
	same := " FROM users WHERE " + unique.same()
	others := same + " AND id <> old.id"
	trigger := func(name, event string, statements ...string) string {
		return "CREATE TRIGGER users_changes_" + name + " " + event + " BEGIN " + strings.Join(statements, "; ") + "; END"
	}
	const most = models.MostRecorded
	return []string{
		"CREATE TABLE users_changes (cursor INTEGER PRIMARY KEY, op TEXT NOT NULL, id INTEGER, at INTEGER NOT NULL)",
		trigger("created", "AFTER INSERT ON users", created),
		trigger("changed", "AFTER UPDATE ON users WHEN new.id = old.id", record(models.OpChanged, "new.id", "")),
		trigger("moved", "AFTER UPDATE ON users WHEN new.id <> old.id", deleted, created),
		trigger("deleted", "AFTER DELETE ON users", deleted),
		trigger("inserting", "BEFORE INSERT ON users WHEN EXISTS (SELECT 1"+same+")", record(models.OpChanged, "id", same)),
		trigger("updating", "BEFORE UPDATE OF "+unique.columns()+" ON users WHEN EXISTS (SELECT 1"+others+")",
			record(models.OpChanged, "id", others)),
		trigger("many", fmt.Sprintf("AFTER INSERT ON users_changes WHEN new.at = (SELECT at FROM users_changes "+
			"WHERE cursor = new.cursor - %d)", most),
			fmt.Sprintf("DELETE FROM users_changes WHERE cursor BETWEEN new.cursor - %d AND new.cursor - 1", most),
			fmt.Sprintf("UPDATE users_changes SET op = '%s', id = NULL WHERE cursor = new.cursor", models.OpMany)),
		trigger("rest", fmt.Sprintf("AFTER INSERT ON users_changes WHEN (SELECT op FROM users_changes "+
			"WHERE cursor = new.cursor - 1 AND at = new.at) = '%s'", models.OpMany),
			"DELETE FROM users_changes WHERE cursor = new.cursor"),
	}
}

// firstChange is the entry at which a feed begins, which is never shown. JavaScript can count on from its key.
func firstChange() string {
	return fmt.Sprintf("INSERT INTO users_changes (cursor, op, at) VALUES (%d, 'begin', %s)", 1+rand.Int64N(1<<52), thisMoment)
}

// feedTriggers is how many of the triggers are of the table users.
const feedTriggers = 6

// uniqueIndexes are the unique indexes of the table users, each as its columns and as the condition with which it finds the
// users who have the same values as a new one.
type uniqueIndexes []struct{ names, equal string }

// columns returns the columns of all of them. The id is always among the columns of an UPDATE that may replace a user.
func (u uniqueIndexes) columns() string {
	columns := "id"
	for _, index := range u {
		columns += ", " + index.names
	}
	return columns
}

// same returns the condition for the users whom REPLACE would remove.
func (u uniqueIndexes) same() string {
	if len(u) == 0 {
		return "0"
	}
	var conditions []string
	for _, index := range u {
		conditions = append(conditions, index.equal)
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// readUniqueIndexes also reports whether the triggers can find all users whom REPLACE would remove: an index on an
// expression, or with a condition, removes others.
func readUniqueIndexes(conn *dbfile.Connection) (unique uniqueIndexes, all bool, err error) {
	all = true
	err = conn.Query(func(r dbfile.Row) error {
		names, _ := r.Text(0)
		equal, _ := r.Text(1)
		unique, all = append(unique, struct{ names, equal string }{names, equal}), all && r.Number(2) == 0
		return nil
	}, uniqueKeys)
	return unique, all, err
}

// records reports whether changes are recorded: the table and all triggers are as this program makes them. The triggers are
// gone if another program has replaced the table users, and others if it has changed the unique indexes.
func records(conn *dbfile.Connection) (bool, error) {
	found := map[string]bool{}
	err := conn.Query(func(r dbfile.Row) error {
		text, _ := r.Text(0)
		found[text] = true
		return nil
	}, storedFeed)
	if err != nil || len(found) == 0 {
		return false, err
	}
	unique, all, err := readUniqueIndexes(conn)
	isMissing := func(statement string) bool { return !found[statement] }
	return all && !slices.ContainsFunc(feedSchema(unique), isMissing), err
}

// RecordChanges begins to record changes in the database at path, beside running services. If it records them already, it
// goes on.
func RecordChanges(ctx context.Context, path string) error {
	return changeTable(ctx, path, func(conn *connection) error {
		recording, err := records(conn.Connection)
		if err != nil || recording {
			return err
		}
		if err := conn.createFeed(); err != nil {
			return err
		}
		_, err = conn.describe() // also if the table could not be served without: its triggers had no table to fill
		return err
	})
}

// createFeed makes the table and its triggers again, empty.
func (c *connection) createFeed() error {
	unique, all, err := readUniqueIndexes(c.Connection)
	if err != nil {
		return err
	}
	if !all {
		return errors.New("the table users has a unique index on an expression, or with WHERE: what REPLACE removes through it " +
			"could not be recorded; drop that index, or make it an ordinary one")
	}
	if err := c.dropFeed(); err != nil {
		return err
	}
	return c.Script(strings.Join(append(feedSchema(unique), firstChange()), "; "))
}

// dropFeed removes the table and its triggers.
func (c *connection) dropFeed() error {
	script := "DROP TABLE IF EXISTS users_changes"
	for _, statement := range feedSchema(nil) {
		if trigger, ok := strings.CutPrefix(statement, "CREATE TRIGGER "); ok {
			name, _, _ := strings.Cut(trigger, " ")
			script += "; DROP TRIGGER IF EXISTS " + name
		}
	}
	return c.Script(script)
}

// ForgetChanges ends the recording of changes, and removes what was recorded.
func ForgetChanges(ctx context.Context, path string) error {
	return changeTable(ctx, path, (*connection).dropFeed)
}

// BeginFeedAgain makes all cursors that clients have invalid, if changes are recorded: the users in a database that is
// restored are not those that the clients have seen.
func BeginFeedAgain(conn *dbfile.Connection) error {
	recording, err := records(conn)
	if err != nil || !recording {
		return err
	}
	return conn.Script("BEGIN IMMEDIATE; DELETE FROM users_changes; " + firstChange() + "; COMMIT")
}
