package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"users-api/models/listcache"
)

// The feed is the table users_changes, which triggers of users fill.
//
// A number from a sequence does not follow the order of commits: it is given to an entry before the commit. So the key of an
// entry begins with the number of its transaction, and entries are shown once no transaction with that number or a lower one is
// under way (below xmin of the snapshot): whatever commits later has a higher key. A transaction that stays open holds the
// feed back.
//
// Triggers for statements record writes: one for 64 users costs about as much as one for a single user. They do not fire for
// what logical replication writes, so a table that it fills has no feed: the list would miss what it writes.
//
// Only what is on disk may be recorded, because a crash takes the numbers of transactions back that are not: clients would
// have cursors beyond them. So a transaction that writes users waits for the disk, whatever its synchronous_commit is.

// feedTriggers are the triggers of the table users: their names and events.
func feedTriggers() [][2]string {
	return [][2]string{
		{"users_changes_created", "INSERT ON users REFERENCING NEW TABLE AS _new"},
		{"users_changes_changed", "UPDATE ON users REFERENCING OLD TABLE AS _old NEW TABLE AS _new"},
		{"users_changes_deleted", "DELETE ON users REFERENCING OLD TABLE AS _old"},
		{"users_changes_truncated", "TRUNCATE ON users"},
	}
}

// isOurs is true of a trigger g that records changes: another program's may have a name that only begins like one.
const isOurs = `g.tgname IN ('users_changes_created', 'users_changes_changed', 'users_changes_deleted', 'users_changes_truncated')`

// isRecorded is true of a table c whose changes are recorded.
const isRecorded = `(4 = (SELECT count(*) FROM pg_trigger g WHERE g.tgrelid = c.oid AND ` + isOurs + ` AND g.tgenabled = 'A')
	AND NOT EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = c.oid)
	AND EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users_changes') AND relnamespace = c.relnamespace))`

// createPostgresFeed makes the table and its triggers. The function runs with the rights of its owner, and no other trigger may call
// it. If the table is not found, because another program has removed it, writes succeed and the feed ends.
func createPostgresFeed(tx *gorm.DB) error {
	var schema, refusal string
	err := tx.Raw(`SELECT quote_ident(n.nspname), CASE
		WHEN c.relpersistence <> 'p' OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)
			OR EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = c.oid)
			THEN 'changes cannot be recorded of a partition, of an unlogged table, or of one that logical replication fills'
		ELSE '' END
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('users')`).Row().Scan(&schema, &refusal)
	if err == nil && refusal != "" {
		err = &StorageError{Text: refusal}
	}
	if err != nil {
		return err
	}
	script := fmt.Sprintf(`
		CREATE TABLE SCHEMA.users_changes (xid xid8 NOT NULL DEFAULT pg_current_xact_id(), seq bigint GENERATED ALWAYS AS IDENTITY,
			op text NOT NULL, id bigint, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (xid, seq));
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
	IF TG_OP = 'TRUNCATE' THEN
		INSERT INTO SCHEMA.users_changes (op) VALUES ('%[1]s');
	ELSE
		IF TG_OP = 'DELETE' THEN
			SELECT count(*) INTO written FROM _old;
		ELSE
			SELECT count(*) INTO written FROM _new;
		END IF;
		IF written > %[5]d THEN
			INSERT INTO SCHEMA.users_changes (op) VALUES ('%[1]s');
		ELSIF TG_OP = 'INSERT' THEN
			INSERT INTO SCHEMA.users_changes (op, id) SELECT '%[4]s', id FROM _new;
		ELSIF TG_OP = 'DELETE' THEN
			INSERT INTO SCHEMA.users_changes (op, id) SELECT '%[3]s', id FROM _old;
		ELSIF written > 0 THEN
			INSERT INTO SCHEMA.users_changes (op, id)
				SELECT CASE WHEN _new.id IS NULL THEN '%[3]s' WHEN _old.id IS NULL THEN '%[4]s' ELSE '%[2]s' END,
					COALESCE(_new.id, _old.id) FROM _old FULL JOIN _new ON _new.id = _old.id;
		END IF;
	END IF;
	RETURN NULL;
END $record$;
		CREATE FUNCTION SCHEMA.users_changes_keep() RETURNS trigger LANGUAGE plpgsql AS $keep$
BEGIN
	IF current_setting('users_api.prunes', true) IS DISTINCT FROM 'on' THEN
		RAISE EXCEPTION 'entries of users_changes are neither changed nor deleted one by one, because clients that follow them would miss what they tell: they '
			'hold no personal data, and "users-api changes off" removes them all';
	END IF;
	RETURN NULL;
END $keep$;
		REVOKE ALL ON FUNCTION SCHEMA.users_changes_record() FROM PUBLIC;
		CREATE TRIGGER users_changes_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON SCHEMA.users_changes
			FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_keep();
		ALTER TABLE SCHEMA.users_changes ENABLE ALWAYS TRIGGER users_changes_keep;`, OpMany, OpChanged, OpDeleted, OpCreated, MaxRecorded)
	for _, t := range feedTriggers() {
		script += fmt.Sprintf("CREATE TRIGGER %[1]s AFTER %[2]s FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.users_changes_record();"+
			"ALTER TABLE users ENABLE ALWAYS TRIGGER %[1]s;", t[0], t[1])
	}
	if err := runScript(tx, strings.ReplaceAll(script, "SCHEMA", schema)); err != nil {
		return err
	}
	feed, err := readFeed(tx)
	if err == nil && feed.epoch == "" {
		err = &StorageError{Text: "a table users_changes of another schema comes first on the search path: rename it, or give " +
			"users-api a schema of its own"}
	}
	return err
}

// dropPostgresFeed removes what createPostgresFeed makes, as far as it exists.
func dropPostgresFeed(tx *gorm.DB) error {
	var schema string
	var foreign bool
	err := tx.Raw(`SELECT quote_ident(n.nspname), f.oid IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute
			WHERE attrelid = f.oid AND attname = 'xid' AND atttypid = 'xid8'::regtype)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_class f ON f.relname = 'users_changes' AND f.relnamespace = c.relnamespace
		WHERE c.oid = to_regclass('users')`).Row().Scan(&schema, &foreign)
	if err == nil && foreign {
		err = &StorageError{Text: "users_changes is another program's: rename it, or give users-api a schema of its own"}
	}
	if err != nil {
		return err
	}
	script := ""
	for _, t := range feedTriggers() {
		script += "DROP TRIGGER IF EXISTS " + t[0] + " ON users;"
	}
	script += "DROP TRIGGER IF EXISTS users_changes_replicated ON users;" // of an earlier version
	return runScript(tx, script+fmt.Sprintf("DROP FUNCTION IF EXISTS %[1]s.users_changes_record(); DROP TABLE IF EXISTS %[1]s.users_changes;"+
		"DROP FUNCTION IF EXISTS %[1]s.users_changes_keep();", schema))
}

// runScript runs statements that have no values: GORM's Exec would look for placeholders in them.
func runScript(tx *gorm.DB, statements string) error {
	_, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, statements)
	return err
}

// feedPlace is between two entries of the feed: after that with a key.
type feedPlace struct {
	xid uint64
	seq int64
}

func (p feedPlace) isBefore(other feedPlace) bool {
	return p.xid < other.xid || p.xid == other.xid && p.seq < other.seq
}

// postgresFeed is the feed at a moment.
type postgresFeed struct {
	epoch       string    // of its cursors: of one history of one database; "" if changes are not recorded, or cannot be read
	definition  string    // changes with the columns and triggers of users, which no trigger records
	unreadable  error     // why changes that are recorded cannot be read here
	begin, last feedPlace // the last entry that was deleted because of its age, and the last that can be shown now
}

// cursor returns the cursor of a place, or "" without a feed.
func (f postgresFeed) cursor(place feedPlace) string {
	if f.epoch == "" {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", f.epoch, place.xid, place.seq)
}

// readFeed reads where the feed begins and ends. Each has an index that finds it, past no entries that were deleted and that
// VACUUM has not removed yet.
func readFeed(tx *gorm.DB) (f postgresFeed, err error) {
	var identity string
	var mayRead, hidden, standby bool
	found := tx.Raw(`SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
			(SELECT oid FROM pg_database WHERE datname = current_database()),
			CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END, c.oid, to_regclass('users_changes')::oid),
		concat_ws(' ', c.relfilenode, (SELECT string_agg(concat(attnum, ':', xmin), ' ' ORDER BY attnum) FROM pg_attribute
				WHERE attrelid = c.oid AND attnum > 0),
			(SELECT string_agg(concat(g.oid, ':', g.xmin, ':', f.xmin), ' ' ORDER BY g.oid)
				FROM pg_trigger g JOIN pg_proc f ON f.oid = g.tgfoid WHERE tgrelid = c.oid)),
		has_table_privilege('users_changes', 'SELECT'), pg_is_in_recovery(), (SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass('users_changes'))
		FROM pg_class c WHERE c.oid = to_regclass('users') AND ` + isRecorded)
	rows, err := found.Rows()
	if err != nil {
		return f, err
	}
	for rows.Next() {
		err = rows.Scan(&identity, &f.definition, &mayRead, &standby, &hidden)
	}
	switch err = errors.Join(err, rows.Err(), rows.Close()); {
	case err != nil, identity == "":
		return f, err
	case hidden: // lists would miss what it hides
		return f, &StorageError{Text: "row security is on for users_changes, and may hide entries: disable it", Meaning: "row security"}
	case standby: // it cannot say to which history of the primary its entries belong, and each cursor must
		f.unreadable = &StorageError{
			Text: "a standby does not serve the feed of changes: ask a service whose DATABASE_URL leads to the primary",
			Code: codeReadOnly, Meaning: "a standby",
		}
		return f, nil
	case !mayRead:
		f.unreadable = &StorageError{
			Text: "permission denied for table users_changes: grant the user in DATABASE_URL SELECT, UPDATE and DELETE on it",
			Code: codeNoRight, Meaning: "insufficient privilege",
		}
		return f, nil
	}
	var beginXID, lastXID string // there is no unsigned number
	err = tx.Raw(`SELECT COALESCE(first.xid, '0')::text, COALESCE(first.seq, 0), COALESCE(last.xid, '0')::text, COALESCE(last.seq, 0)
		FROM (SELECT) AS one
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE op = 'begin' ORDER BY xid DESC, seq DESC LIMIT 1) AS first ON true
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid DESC, seq DESC LIMIT 1) AS last ON true`).Row().Scan(&beginXID, &f.begin.seq, &lastXID, &f.last.seq)
	if err != nil {
		return f, err
	}
	f.begin.xid, _ = strconv.ParseUint(beginXID, 10, 64)
	f.last.xid, _ = strconv.ParseUint(lastXID, 10, 64)
	sum := sha256.Sum256([]byte(identity))
	f.epoch = hex.EncodeToString(sum[:6])
	return f, nil
}

// cursor returns where the feed ends. Its table may go away between the two statements, except in a transaction that holds a
// lock of users.
func (postgresDialect) cursor(tx *gorm.DB) (string, error) {
	feed, err := readFeed(tx)
	if sqlState(err) == codeNoTable {
		return "", nil
	}
	return feed.cursor(feed.last), err
}

// changes reads the entries after a cursor. If the entry at that place is gone, later ones may be too.
func (postgresDialect) changes(tx *gorm.DB, after string, limit int) (changes Changes, err error) {
	feed, err := readFeed(tx)
	switch {
	case err != nil:
		return changes, err
	case feed.unreadable != nil:
		return changes, feed.unreadable
	case feed.epoch == "":
		return changes, ErrNoFeed
	}
	from := feed.begin
	if after != "" {
		if parts := strings.Split(after, "."); len(parts) == 3 {
			from.xid, _ = strconv.ParseUint(parts[1], 10, 64)
			from.seq, _ = strconv.ParseInt(parts[2], 10, 64)
		}
		if feed.cursor(from) != after || from.isBefore(feed.begin) || feed.last.isBefore(from) {
			return changes, ErrCursorGone
		}
	}
	changes.Next = feed.cursor(from)
	isThere := from == feedPlace{}
	if !isThere {
		limit++ // the entry at that place comes first
	}
	rows, err := tx.Raw(`SELECT xid::text, seq, op, COALESCE(id, 0), to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') FROM users_changes
		WHERE (xid, seq) >= (?::text::xid8, ?) AND (xid, seq) <= (?::text::xid8, ?) ORDER BY users_changes.xid, seq LIMIT ?`,
		fmt.Sprint(from.xid), from.seq, fmt.Sprint(feed.last.xid), feed.last.seq, limit).Rows()
	if err != nil {
		return changes, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var xid string
		var seq int64
		var change Change
		if err := rows.Scan(&xid, &seq, &change.Op, &change.ID, &change.At); err != nil {
			return changes, err
		}
		change.Cursor = fmt.Sprintf("%s.%s.%d", feed.epoch, xid, seq)
		if !isThere && change.Cursor == changes.Next {
			isThere = true
			continue
		}
		changes.Entries = append(changes.Entries, change)
	}
	if err := rows.Err(); err != nil {
		return changes, err
	}
	if !isThere {
		return Changes{}, ErrCursorGone
	}
	if n := len(changes.Entries); n > 0 {
		changes.Next = changes.Entries[n-1].Cursor
	}
	return changes, nil
}

// prune deletes entries from the oldest on, up to the first that is young, and makes the last of them the place where the feed
// begins. Entries of different transactions are not in the order of their times, and one from a moment when the clock was
// ahead does not keep those after it. Entries of transactions that this server has not had yet were brought by a dump of
// another; so are those of the transaction that prunes, for all that the server says: it must write no user.
func (postgresDialect) prune(tx *gorm.DB, before time.Time) (int64, error) {
	if feed, err := readFeed(tx); err != nil || feed.epoch == "" {
		return 0, err
	}
	if err := tx.Exec("SET LOCAL users_api.prunes = on; DELETE FROM users_changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())").Error; err != nil {
		return 0, err
	}
	deleted := tx.Exec(`WITH oldest AS (
			SELECT xid, seq, bool_and((at < ? OR at > now() + interval '1 minute') AND xid < pg_snapshot_xmin(pg_current_snapshot()))
				OVER (ORDER BY xid, seq) AS old
			FROM (SELECT xid, seq, at FROM users_changes ORDER BY xid, seq LIMIT ?) AS first),
		last AS (SELECT xid, seq FROM oldest WHERE old ORDER BY xid DESC, seq DESC LIMIT 1),
		begin AS (UPDATE users_changes c SET op = 'begin', id = NULL FROM last WHERE c.xid = last.xid AND c.seq = last.seq AND op <> 'begin')
		DELETE FROM users_changes c USING last WHERE (c.xid, c.seq) < (last.xid, last.seq)`, before, PruneStep+1)
	return deleted.RowsAffected, deleted.Error
}

// measure asks how many bytes the table takes with its indexes (PostgreSQL keeps its log for the whole cluster), for about how
// many entries the feed has, as PostgreSQL last counted them, when the oldest was written, and how long the oldest has been held
// back. An index finds both.
func (p *postgresPool) measure(ctx context.Context, stats *Stats) {
	_ = p.read(ctx, func(db *gorm.DB) error {
		_ = db.Raw("SELECT pg_total_relation_size(to_regclass('users'))").Row().Scan(&stats.DatabaseBytes)
		if table, err := p.catalog.table(db); err != nil || !table.feed {
			return err
		}
		lag := 0.0
		_ = db.Raw(`SELECT GREATEST(reltuples, 0)::int8, first.at, COALESCE(extract(epoch FROM clock_timestamp() - held.at), 0)::float8
			FROM pg_class, (SELECT at FROM users_changes ORDER BY xid, seq LIMIT 1) AS first
			LEFT JOIN (SELECT at FROM users_changes WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
				ORDER BY xid, seq LIMIT 1) AS held ON true
			WHERE oid = to_regclass('users_changes')`).Row().Scan(&stats.FeedEntries, &stats.FeedOldest, &lag)
		stats.FeedLag = time.Duration(lag * float64(time.Second))
		return nil
	})
}

// postgresState is what is known about a transaction that has read the list.
//
// The server's snapshot names the transactions that are visible. A commit takes its number out of those under way, or moves
// their end. The numbers have 64 bits and do not wrap, a prepared transaction stays under way, and TRUNCATE and every DDL
// statement take a number as well. So on one incarnation of one primary, an equal snapshot means an equal table.
//
// After a crash, and on a standby that was promoted, numbers are used again, and behind a pooler a change of the server goes
// unnoticed. So the server's start time and its last checkpoint are read too: a crash ends with a checkpoint, and another
// server has another start time; and the database and the table, because a pooler or a changed search path may lead to others.
// Any commit in the cluster, ANALYZE and a checkpoint cost one more read of the list, and nothing else.
type postgresState struct {
	snapshot, server string
	feed             postgresFeed
}

func (s *postgresState) read(db *gorm.DB) error {
	isStandby := false
	err := db.Raw(`SELECT pg_current_snapshot()::text, concat_ws(' ', pg_postmaster_start_time(),
		(SELECT checkpoint_lsn FROM pg_control_checkpoint()), current_database(), to_regclass('users')::oid), pg_is_in_recovery()`).
		Row().Scan(&s.snapshot, &s.server, &isStandby)
	if class(sqlState(err)) == "42" || err == nil && isStandby { // this user may not call it; a standby does not name what is under way
		err = listcache.ErrNotCached
	}
	return err
}

// Unchanged asks for the snapshot outside of any transaction.
func (p *postgresPool) Unchanged(ctx context.Context) (bool, error) {
	var now postgresState
	err := p.read(ctx, now.read)
	return err == nil && now.snapshot == p.last.snapshot && now.server == p.last.server, err
}

// ReadList reads in a transaction whose snapshot is the one that is noted.
//
// With the feed, only what it names is read again, whatever program wrote: an entry is committed together with what it tells
// of, so the entries that one snapshot sees and an earlier one does not name all that was written between the two. No trigger
// records a change of the columns or of the triggers themselves. It changes the definition of the feed, and then the whole list
// is read again.
func (p *postgresPool) ReadList(ctx context.Context, read func(listcache.Snapshot) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(searchTimeout, cancel) // no row for as long as any read may take: the server does not answer
	defer stall.Stop()
	before := p.last
	p.last = postgresState{}
	var now postgresState
	err := p.snapshot(ctx, func(tx *gorm.DB) error {
		stall.Reset(answerTimeout)
		if err := now.read(tx); err != nil {
			return err
		}
		var err error
		if now.feed, err = readFeed(tx); err != nil {
			return err
		}
		changed, err := changedSince(tx, before, now)
		if err != nil {
			return err
		}
		rows := p.rows(tx)
		return read(listcache.Snapshot{
			Changed: changed, Cursor: now.feed.cursor(now.feed.last),
			Rows: func(from, to int64) iter.Seq2[listcache.Row, error] {
				return func(yield func(listcache.Row, error) bool) {
					n := 0
					stall.Reset(answerTimeout)
					for row, err := range rows(from, to) {
						if n++; n%pageUsers == 0 {
							stall.Reset(answerTimeout)
						}
						if !yield(row, err) {
							return
						}
					}
				}
			},
		})
	})
	if err == nil {
		p.last = now
	}
	return err
}

// changedSince returns the users in entries that are visible now, and were not in an earlier snapshot. NULL stands for
// any user, also if the entry is gone that was the last then, or entries of that time were deleted because of their age.
func changedSince(tx *gorm.DB, before, now postgresState) (changed listcache.Changes, err error) {
	lowest, _, _ := strings.Cut(before.snapshot, ":")
	xid, err := strconv.ParseUint(lowest, 10, 64)
	if err != nil || now.feed.epoch == "" || now.feed.epoch != before.feed.epoch || now.feed.definition != before.feed.definition ||
		now.server != before.server || now.feed.begin.xid >= xid {
		return listcache.Changes{Anything: true}, nil
	}
	const most = 4097 // more than the list can be told
	rows, err := tx.Raw(`(SELECT id FROM users_changes WHERE xid >= pg_snapshot_xmin(?::text::pg_snapshot)
			AND NOT pg_visible_in_snapshot(xid, ?::text::pg_snapshot) LIMIT ?)
		UNION ALL SELECT NULL WHERE ? <> '0' AND NOT EXISTS (SELECT FROM users_changes WHERE xid = ?::text::xid8 AND seq = ?)`,
		before.snapshot, before.snapshot, most, fmt.Sprint(before.feed.last.xid), fmt.Sprint(before.feed.last.xid), before.feed.last.seq).Rows()
	if err != nil {
		return changed, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id *int64
		if err := rows.Scan(&id); err != nil {
			return changed, err
		}
		if id == nil {
			changed.Anything = true
		} else {
			changed.Add(*id)
		}
	}
	return changed, rows.Err()
}
