package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"users-api/models"
)

// The feed is the table users_changes, which triggers of users fill.
//
// A number from a sequence does not follow the order of commits: it is given to an entry before the commit. So the key
// of an entry begins with the number of its transaction, and entries are shown once no transaction with that number or
// a lower one is under way (below xmin of the snapshot): whatever commits later has a higher key. A transaction that
// stays open holds the feed back.
//
// Triggers for statements record writes: one for 64 users costs about as much as one for a single user. They do not
// fire for what logical replication writes, so a table that it fills has no feed: the list would miss what it writes.
//
// Only what is on disk may be recorded, because a crash takes the numbers of transactions back that are not: clients
// would have cursors beyond them. So a transaction that writes users waits for the disk, whatever its
// synchronous_commit is.

// isOurs is true of a trigger g that records changes: another program's may have a name that only begins like one.
const isOurs = `g.tgname IN ('users_changes_created', 'users_changes_changed', 'users_changes_deleted',
	'users_changes_truncated', 'users_changes_keep')`

// isRecorded is true of a table c whose changes are recorded.
const isRecorded = `(4 = (SELECT count(*) FROM pg_trigger g
		WHERE g.tgrelid = c.oid AND g.tgenabled = 'A' AND ` + isOurs + `)
	AND NOT EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = c.oid)
	AND EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users_changes') AND relnamespace = c.relnamespace))`

// createFeed makes the table and its triggers. The function that records runs with the rights of its owner, and no
// other trigger may call it. If it does not find the table, because another program has removed it, writes succeed and
// the feed ends. Databases have this text: a change of it reaches none that records already.
const createFeed = `
CREATE TABLE SCHEMA.users_changes (xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
	seq bigint GENERATED ALWAYS AS IDENTITY, op text NOT NULL, id bigint,
	at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (xid, seq));
CREATE INDEX users_changes_begin ON SCHEMA.users_changes (xid, seq) WHERE op = 'begin';
CREATE FUNCTION SCHEMA.users_changes_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp AS $record$
DECLARE
	written int8;
BEGIN
	IF to_regclass($name$SCHEMA.users_changes$name$) IS NULL THEN
		RETURN NULL;
	END IF;
	IF current_setting('synchronous_commit') = 'off' THEN
		PERFORM set_config('synchronous_commit', 'local', true);
	END IF;
	IF TG_OP = 'DELETE' THEN
		SELECT count(*) INTO written FROM _old;
	ELSIF TG_OP <> 'TRUNCATE' THEN
		SELECT count(*) INTO written FROM _new;
	END IF;
	IF TG_OP = 'TRUNCATE' OR written > MOST THEN
		INSERT INTO SCHEMA.users_changes (op) VALUES ('many');
	ELSIF TG_OP = 'INSERT' THEN
		INSERT INTO SCHEMA.users_changes (op, id) SELECT 'created', id FROM _new;
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO SCHEMA.users_changes (op, id) SELECT 'deleted', id FROM _old;
	ELSIF written > 0 THEN
		INSERT INTO SCHEMA.users_changes (op, id)
			SELECT CASE WHEN _new.id IS NULL THEN 'deleted' WHEN _old.id IS NULL THEN 'created' ELSE 'changed' END,
				COALESCE(_new.id, _old.id) FROM _old FULL JOIN _new ON _new.id = _old.id;
	END IF;
	RETURN NULL;
END $record$;
CREATE FUNCTION SCHEMA.users_changes_keep() RETURNS trigger LANGUAGE plpgsql AS $keep$
BEGIN
	IF current_setting('users_api.prunes', true) IS DISTINCT FROM 'on' THEN
		RAISE EXCEPTION 'entries of users_changes are neither changed nor deleted one by one, because clients that '
			'follow them would miss what they tell: they hold no personal data, and "users-api changes off" removes '
			'them all';
	END IF;
	RETURN NULL;
END $keep$;
REVOKE ALL ON FUNCTION SCHEMA.users_changes_record() FROM PUBLIC;
CREATE TRIGGER users_changes_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON SCHEMA.users_changes
	FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_keep();
ALTER TABLE SCHEMA.users_changes ENABLE ALWAYS TRIGGER users_changes_keep;
CREATE TRIGGER users_changes_created AFTER INSERT ON users REFERENCING NEW TABLE AS _new
	FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_record();
CREATE TRIGGER users_changes_changed AFTER UPDATE ON users REFERENCING OLD TABLE AS _old NEW TABLE AS _new
	FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_record();
CREATE TRIGGER users_changes_deleted AFTER DELETE ON users REFERENCING OLD TABLE AS _old
	FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_record();
CREATE TRIGGER users_changes_truncated AFTER TRUNCATE ON users
	FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_record();
ALTER TABLE users ENABLE ALWAYS TRIGGER users_changes_created, ENABLE ALWAYS TRIGGER users_changes_changed,
	ENABLE ALWAYS TRIGGER users_changes_deleted, ENABLE ALWAYS TRIGGER users_changes_truncated`

// dropFeed removes what createFeed makes, as far as it exists, and the triggers with their function.
const dropFeed = `DROP FUNCTION IF EXISTS SCHEMA.users_changes_record() CASCADE;
DROP TABLE IF EXISTS SCHEMA.users_changes; DROP FUNCTION IF EXISTS SCHEMA.users_changes_keep()`

// recordPostgresChanges makes the feed, unless there is one.
func recordPostgresChanges(tx *gorm.DB) error {
	if cursor, err := (postgresDialect{}).cursor(tx); cursor != "" || err != nil {
		return err
	}
	if err := forgetPostgresChanges(tx); err != nil {
		return err
	}
	err := runUnless(tx, `c.relpersistence <> 'p' OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)
		OR EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = c.oid)`, "changes cannot be recorded of a partition, "+
		"of an unlogged table, or of one that logical replication fills", createFeed)
	if err != nil {
		return err
	}
	feed, err := readFeed(tx)
	if err == nil && errors.Is(feed.unreadable, models.ErrNoFeed) {
		err = &models.StorageError{Text: "a table users_changes of another schema comes first on the search path: rename it, " +
			"or give users-api a schema of its own"}
	}
	return cmp.Or(err, feed.unreadable)
}

func forgetPostgresChanges(tx *gorm.DB) error {
	return runUnless(tx, `EXISTS (SELECT FROM pg_class f
		WHERE f.relname = 'users_changes' AND f.relnamespace = c.relnamespace AND NOT EXISTS (SELECT FROM pg_attribute
			WHERE attrelid = f.oid AND attname = 'xid' AND atttypid = 'xid8'::regtype))`,
		"users_changes is another program's: rename it, or give users-api a schema of its own", dropFeed)
}

// runUnless runs statements in the schema of users, or says why not if a condition of users, the table c, is true.
func runUnless(tx *gorm.DB, condition, refusal, statements string) error {
	var schema string
	var refused bool
	err := tx.Raw(`SELECT quote_ident(n.nspname), `+condition+` FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('users')`).Row().Scan(&schema, &refused)
	switch {
	case err != nil:
		return err
	case refused:
		return &models.StorageError{Text: refusal}
	}
	return tx.Exec(strings.NewReplacer("SCHEMA", schema, "MOST", strconv.Itoa(MaxRecorded)).Replace(statements)).Error
}

// feedPlace is between two entries of the feed: after that with a key. Before the first entry it is zero.
type feedPlace struct{ xid, seq int64 }

// postgresFeed is the feed at a moment.
type postgresFeed struct {
	epoch       string    // of its cursors: of one history of one database; "" if there is no feed to read
	unreadable  error     // why there is no epoch
	begin, last feedPlace // the last entry that was deleted because of its age, and the last that can be shown now
}

// cursor returns the cursor of a place, or "" without a feed.
func (f postgresFeed) cursor(place feedPlace) string {
	if f.epoch == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", f.epoch, place.xid, place.seq)
}

// readFeed reads where the feed begins and ends. Each has an index that finds it, past no entries that were deleted and
// that VACUUM has not removed yet.
func readFeed(tx *gorm.DB) (f postgresFeed, err error) {
	var denied string
	var standby, hidden bool
	err = tx.Raw(`SELECT CASE WHEN NOT has_table_privilege('users_changes', 'SELECT')
				THEN 'table users_changes: grant the user in DATABASE_URL SELECT, UPDATE and DELETE on it'
			WHEN NOT has_function_privilege('pg_control_system()', 'EXECUTE')
				THEN 'function pg_control_system: grant the user in DATABASE_URL EXECUTE on it' ELSE '' END,
		pg_is_in_recovery(), (SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('users_changes'))
		FROM pg_class c WHERE c.oid = to_regclass('users') AND `+isRecorded).
		Row().Scan(&denied, &standby, &hidden)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		f.unreadable, err = models.ErrNoFeed, nil
	case err != nil:
	case hidden: // lists would miss what it hides
		err = &models.StorageError{
			Text: "row security is on for users_changes, and may hide entries: disable it", Meaning: "row security",
		}
	case standby: // it cannot say to which history of the primary its entries belong, and each cursor must
		f.unreadable = &models.StorageError{
			Text: "a standby does not serve the feed of changes: ask a service whose DATABASE_URL leads to the primary",
			Code: codeReadOnly, Meaning: "a standby",
		}
	case denied != "":
		f.unreadable = &models.StorageError{
			Text: "permission denied for " + denied, Code: codeNoRight, Meaning: "insufficient privilege",
		}
	}
	if err != nil || f.unreadable != nil {
		return f, err
	}
	err = tx.Raw(`SELECT left(encode(sha256(convert_to(concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
				(SELECT oid FROM pg_database WHERE datname = current_database()), left(pg_walfile_name(pg_current_wal_lsn()), 8),
				to_regclass('users')::oid, to_regclass('users_changes')::oid), 'UTF8')), 'hex'), 12),
			COALESCE(first.xid::text::int8, 0), COALESCE(first.seq, 0),
			COALESCE(last.xid::text::int8, 0), COALESCE(last.seq, 0) FROM (SELECT) AS one
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE op = 'begin' ORDER BY xid DESC, seq DESC LIMIT 1) AS first ON true
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid DESC, seq DESC LIMIT 1) AS last ON true`).
		Row().Scan(&f.epoch, &f.begin.xid, &f.begin.seq, &f.last.xid, &f.last.seq)
	return f, err
}

// cursor returns where the feed ends. Its table may go away between the two statements, except in a transaction that
// holds a lock of users.
func (postgresDialect) cursor(tx *gorm.DB) (string, error) {
	feed, err := readFeed(tx)
	if sqlState(err) == codeNoTable {
		return "", nil
	}
	return feed.cursor(feed.last), err
}

// changes reads the entries after a cursor, in one snapshot. If the entry at that place is gone, later ones may be too.
func (postgresDialect) changes(tx *gorm.DB, after string, limit int) (changes models.Changes, err error) {
	feed, err := readFeed(tx)
	if err = cmp.Or(err, feed.unreadable); err != nil {
		return changes, err
	}
	from := feed.begin
	if after != "" {
		_, _ = fmt.Sscanf(after, feed.epoch+".%d.%d", &from.xid, &from.seq)
		if feed.cursor(from) != after {
			return changes, models.ErrCursorGone
		}
	}
	hasEntry := from != feedPlace{} || from != feed.begin
	if hasEntry {
		limit++ // it comes first
	}
	changes.Next = feed.cursor(from)
	err = tx.Raw(`SELECT concat(?::text, '.', xid, '.', seq) AS cursor, op, id,
			to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS at FROM users_changes
		WHERE (xid, seq) >= (?::text::xid8, ?) AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq LIMIT ?`,
		feed.epoch, from.xid, from.seq, limit).Scan(&changes.Entries).Error
	if hasEntry && err == nil {
		if len(changes.Entries) == 0 || changes.Entries[0].Cursor != changes.Next {
			return models.Changes{}, models.ErrCursorGone
		}
		changes.Entries = changes.Entries[1:]
	}
	return changes, err
}

// prune deletes entries from the oldest on, up to the first that is young, and makes the last of them the place where
// the feed begins. Entries of different transactions are not in the order of their times, and one from a moment when
// the clock was ahead does not keep those after it. Entries of transactions that this server has not had yet were
// brought by a dump of another; so are those of the transaction that prunes, for all that the server says: it must
// write no user.
func (postgresDialect) prune(tx *gorm.DB, before time.Time) (int64, error) {
	if feed, err := readFeed(tx); err != nil || feed.epoch == "" {
		return 0, err
	}
	err := execute(tx, "SET LOCAL users_api.prunes = on",
		"DELETE FROM users_changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())")
	if err != nil {
		return 0, err
	}
	deleted := tx.Exec(`WITH oldest AS (
			SELECT xid, seq, bool_and((at < ? OR at > now() + interval '1 minute')
				AND xid < pg_snapshot_xmin(pg_current_snapshot())) OVER (ORDER BY xid, seq) AS old
			FROM (SELECT xid, seq, at FROM users_changes ORDER BY xid, seq LIMIT ?) AS first),
		last AS (SELECT xid, seq FROM oldest WHERE old ORDER BY xid DESC, seq DESC LIMIT 1),
		begin AS (UPDATE users_changes c SET op = 'begin', id = NULL FROM last
			WHERE c.xid = last.xid AND c.seq = last.seq AND op <> 'begin')
		DELETE FROM users_changes c USING last WHERE (c.xid, c.seq) < (last.xid, last.seq)`, before, PruneStep+1)
	return deleted.RowsAffected, deleted.Error
}

// measure asks how many bytes the table takes with its indexes (PostgreSQL keeps its log for the whole cluster), for
// about how many entries the feed has, as PostgreSQL last counted them, when the oldest was written, and how long the
// oldest has been held back. An index finds both.
func (p *postgresPool) measure(ctx context.Context, stats *Stats) {
	_ = p.read(ctx, func(db *gorm.DB) error {
		_ = db.Raw("SELECT pg_total_relation_size(to_regclass('users'))").Row().Scan(&stats.DatabaseBytes)
		if table, err := p.catalog.table(db); err != nil || !table.feed {
			return err
		}
		_ = db.Raw(`SELECT GREATEST(reltuples, 0)::int8, first.at,
				(COALESCE(extract(epoch FROM clock_timestamp() - held.at), 0) * 1000000000)::int8
			FROM pg_class, (SELECT at FROM users_changes ORDER BY xid, seq LIMIT 1) AS first
			LEFT JOIN (SELECT at FROM users_changes WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
				ORDER BY xid, seq LIMIT 1) AS held ON true
			WHERE oid = to_regclass('users_changes')`).Row().Scan(&stats.FeedEntries, &stats.FeedOldest, &stats.FeedLag)
		return nil
	})
}

// state returns the server's snapshot and what tells the server apart.
//
// The snapshot names the transactions that are visible. A commit takes its number out of those under way, or moves
// their end. The numbers have 64 bits and do not wrap, a prepared transaction stays under way, and TRUNCATE and every
// DDL statement take a number as well. So on one incarnation of one primary, an equal snapshot means an equal table.
//
// After a crash, and on a standby that was promoted, numbers are used again, and behind a pooler a change of the server
// goes unnoticed. So the server's start time and its last checkpoint are read too: a crash ends with a checkpoint, and
// another server has another start time; and the database and the table, because a pooler or a changed search path may
// lead to others. Any commit in the cluster, ANALYZE and a checkpoint cost one more read of the list, and nothing else.
func (p *postgresPool) state(ctx context.Context) (state string, err error) {
	isStandby := false
	err = p.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT concat_ws(' ', pg_current_snapshot(), pg_postmaster_start_time(),
				(SELECT checkpoint_lsn FROM pg_control_checkpoint()), current_database(), to_regclass('users')::oid),
			pg_is_in_recovery()`).Row().Scan(&state, &isStandby)
	})
	// This user may not call it, or a standby does not name what is under way.
	if class(sqlState(err)) == "42" || err == nil && isStandby {
		return "", nil
	}
	return state, err
}
