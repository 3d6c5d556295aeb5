package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// The feed is the table users_changes, which triggers fill. One transaction writes at a time, so the keys of its rows are
// in commit order, and a key serves as a cursor. The first key is random, so that a cursor of another feed, such as that of
// a database that was restored since, is hardly ever among them.
//
// The triggers are part of the database, so the SQLite of any program that writes runs them: they use nothing newer than
// SQLite 3.8.

// feedTable creates the table. It is stored with this text.
const feedTable = "CREATE TABLE users_changes " +
	"(cursor INTEGER PRIMARY KEY, op TEXT NOT NULL, id INTEGER, at INTEGER NOT NULL)"

// thisMoment is the same for all rows of a statement (sqlite.org/lang_datefunc.html), in milliseconds since 1970.
const thisMoment = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

// firstChange stores the entry at which a feed begins, which is never shown. JavaScript can count on from its key.
func firstChange() string {
	return fmt.Sprintf("INSERT INTO users_changes (cursor, op, at) VALUES (%d, 'begin', %s)", 1+rand.Int64N(1<<52), thisMoment)
}

type trigger struct{ name, does string }

func (t trigger) create() string { return "CREATE TRIGGER " + t.name + " " + t.does + "; END" }

// triggersOfUsers is how many of feedTriggers are triggers of the table users.
const triggersOfUsers = 6

// feedTriggers returns the triggers that fill the table. A query selects the ids of the users whom REPLACE would remove.
//
//   - INSERT OR REPLACE and UPDATE OR REPLACE remove users without the triggers of deletions. So these users are recorded
//     before each write. The id of a new user is not known then (sqlite.org/lang_createtrigger.html);
//   - the rows of a statement have the same time. Once there are too many of them, one entry takes their place, and each
//     further row takes the place of that entry: a client that has seen it sees it again, even if the clock was set back.
func feedTriggers(replaced string) []trigger {
	record := func(op models.Op, id, from string) string {
		return fmt.Sprintf("INSERT INTO users_changes (op, id, at) SELECT '%s', %s, %s%s", op, id, thisMoment, from)
	}
	created, deleted := record(models.OpCreated, "new.id", ""), record(models.OpDeleted, "old.id", "")
	same := " FROM (" + replaced + ")"
	others := same + " WHERE id <> old.id"
	return []trigger{
		{"users_changes_created", "AFTER INSERT ON users BEGIN " + created},
		{"users_changes_changed", "AFTER UPDATE ON users WHEN new.id = old.id BEGIN " + record(models.OpChanged, "new.id", "")},
		{"users_changes_moved", "AFTER UPDATE ON users WHEN new.id <> old.id BEGIN " + deleted + "; " + created},
		{"users_changes_deleted", "AFTER DELETE ON users BEGIN " + deleted},
		{"users_changes_inserting", "BEFORE INSERT ON users WHEN EXISTS (SELECT 1" + same + ") BEGIN " +
			record(models.OpChanged, "id", same)},
		{"users_changes_updating", "BEFORE UPDATE ON users WHEN EXISTS (SELECT 1" + others + ") BEGIN " +
			record(models.OpChanged, "id", others)},
		{"users_changes_many", fmt.Sprintf("AFTER INSERT ON users_changes "+
			"WHEN new.at = (SELECT at FROM users_changes WHERE cursor = new.cursor - %[1]d) "+
			"OR '%[2]s' = (SELECT op FROM users_changes WHERE cursor = new.cursor - 1 AND at = new.at) "+
			"BEGIN DELETE FROM users_changes WHERE cursor BETWEEN new.cursor - %[1]d AND new.cursor - 1; "+
			"UPDATE users_changes SET op = '%[2]s', id = NULL WHERE cursor = new.cursor", models.MostRecorded, models.OpMany)},
	}
}

// feedState is what the schema of a database says about its feed.
type feedState struct {
	replaced   string // a query for the ids of the users whom REPLACE would remove
	incomplete bool   // REPLACE also removes others
	skipped    bool   // a trigger of another program may keep ours from running
}

func readFeedState(conn *dbfile.Connection) (state feedState, err error) {
	err = conn.Query(func(r dbfile.Row) error {
		state.replaced, _ = r.Text(0)
		state.incomplete, state.skipped = r.Number(1) == 1, r.Number(2) == 1
		return nil
	}, describeFeed)
	return state, err
}

// records reports whether changes are recorded: the table and all triggers are as this program makes them, and they run
// for each write. The triggers are gone if another program has replaced the table users, and others if it has changed the
// unique indexes.
func records(conn *dbfile.Connection) (bool, error) {
	statements, err := storedStatements(conn, storedFeed)
	if err != nil || !statements[feedTable] {
		return false, err
	}
	state, err := readFeedState(conn)
	isMissing := func(t trigger) bool { return !statements[t.create()] }
	return !state.incomplete && !state.skipped && !slices.ContainsFunc(feedTriggers(state.replaced), isMissing), err
}

// RecordChanges begins to record changes in the database at path, beside running services. If it records them already, it
// goes on.
func RecordChanges(ctx context.Context, path string) error {
	return changeTable(ctx, path, func(conn *connection) error {
		recording, err := records(conn.Connection)
		if err != nil || recording {
			return err
		}
		if err := conn.dropFeed(); err != nil {
			return err
		}
		if err := conn.Script(feedTable + "; " + firstChange()); err != nil {
			return err
		}
		if err := conn.makeTriggers(); err != nil {
			return err
		}
		_, err = conn.describe() // also if the table could not be served without: its triggers had no table to fill
		return err
	})
}

// ForgetChanges ends the recording of changes, and removes what was recorded.
func ForgetChanges(ctx context.Context, path string) error {
	return changeTable(ctx, path, (*connection).dropFeed)
}

// dropFeed removes the table and its triggers.
func (c *connection) dropFeed() error {
	foreign, _, err := c.Number(isForeign)
	if err == nil && foreign == 1 {
		err = errors.New("users_changes is another program's: rename it")
	}
	if err != nil {
		return err
	}
	return c.Script(dropTriggers(feedTriggers("")) + "DROP TABLE IF EXISTS users_changes")
}

// makeTriggers makes the triggers anew, for the unique indexes that there are now. What is recorded already stays.
func (c *connection) makeTriggers() error {
	state, err := readFeedState(c.Connection)
	if err == nil && state.incomplete {
		err = errors.New("the table users has a unique index on an expression, or with WHERE: what REPLACE removes through it " +
			"could not be recorded; drop that index, or make it an ordinary one")
	}
	if err != nil {
		return err
	}
	script := dropTriggers(feedTriggers(""))
	for _, trigger := range feedTriggers(state.replaced) {
		script += trigger.create() + "; "
	}
	return c.Script(script)
}

func dropTriggers(triggers []trigger) (script string) {
	for _, trigger := range triggers {
		script += "DROP TRIGGER IF EXISTS " + trigger.name + "; "
	}
	return script
}

// BeginFeedAgain makes all cursors that clients have invalid, if there is a feed: the users in a database that is restored
// are not those that the clients have seen.
func BeginFeedAgain(conn *dbfile.Connection) error {
	statements, err := storedStatements(conn, storedFeed)
	if err != nil || !statements[feedTable] {
		return err
	}
	return conn.Script("BEGIN IMMEDIATE; DELETE FROM users_changes; " + firstChange() + "; COMMIT")
}
