package postgres

import (
	"fmt"
	"strings"
)

const (
	schemaOfUsers = `SELECT quote_ident(nspname) FROM pg_namespace
		WHERE oid = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('users'))`

	// whyNoFeed says why a table cannot have a feed, or "": a write to the partition or the parent of a table does not run the
	// triggers for statements of the table.
	whyNoFeed = `SELECT CASE
		WHEN u.relkind <> 'r' OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = u.oid OR inhparent = u.oid) THEN
			'changes can be recorded only of an ordinary table without partitions that is no partition'
		WHEN u.relpersistence <> 'p' THEN 'changes cannot be recorded of an unlogged table, which a crash of the server empties'
		WHEN f.oid IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute
				WHERE attrelid = f.oid AND attname = 'xid' AND atttypid = 'xid8'::regtype)
			THEN 'users_changes is another program''s: rename it, or give users-api a schema of its own'
		ELSE '' END
		FROM pg_class u LEFT JOIN pg_class f ON f.relname = 'users_changes' AND f.relnamespace = u.relnamespace
		WHERE u.oid = to_regclass('users')`

	// feedEnds asks for the places of the last entry that was deleted because of its age, and of the last that can be shown
	// now. Each has an index that finds it, past no entries that were deleted and that VACUUM has not removed yet.
	feedEnds = `SELECT COALESCE(_first.xid, '0')::text, COALESCE(_first.seq, 0),
			COALESCE(_last.xid, '0')::text, COALESCE(_last.seq, 0)
		FROM (SELECT) AS _one
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE op = 'begin' ORDER BY xid DESC, seq DESC LIMIT 1) AS _first ON true
		LEFT JOIN (SELECT xid, seq FROM users_changes WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid DESC, seq DESC LIMIT 1) AS _last ON true`

	// feedStats asks for about how many entries there are, as PostgreSQL last counted them, when the oldest was written, and
	// how long the oldest has been held back. An index finds both.
	feedStats = `SELECT GREATEST(reltuples, 0)::int8, _first.at, COALESCE(clock_timestamp() - _held.at, '0')
		FROM pg_class, (SELECT at FROM users_changes ORDER BY xid, seq LIMIT 1) AS _first
		LEFT JOIN (SELECT at FROM users_changes WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())
			ORDER BY xid, seq LIMIT 1) AS _held ON true
		WHERE oid = to_regclass('users_changes')`

	// changesAfter are the entry at a place, and those after it up to another place. ORDER BY xid alone would order by the
	// text of that name.
	changesAfter = `SELECT xid::text, seq, op, COALESCE(id, 0), to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
		FROM users_changes
		WHERE (xid, seq) >= ($1::text::xid8, $2::int8) AND (xid, seq) <= ($3::text::xid8, $4::int8)
		ORDER BY users_changes.xid, seq LIMIT $5::int8`

	// changedSince are the users whom entries name that are visible now, and were not in an earlier snapshot. NULL stands for
	// any user, also if the entry is gone that was the last then: another program has deleted entries.
	changedSince = `(SELECT id FROM users_changes WHERE xid >= pg_snapshot_xmin($1::text::pg_snapshot)
		AND NOT pg_visible_in_snapshot(xid, $1::text::pg_snapshot) LIMIT $2::int8)
		UNION ALL SELECT NULL WHERE $3::text <> '0' AND NOT EXISTS (
			SELECT FROM users_changes WHERE xid = $3::text::xid8 AND seq = $4::int8)`

	// pruneChanges deletes entries from the oldest on, up to the first that is not old, and makes the last of them the place
	// where the feed begins. Entries of different transactions are not in the order of their times.
	pruneChanges = `WITH _oldest AS (
			SELECT xid, seq, bool_and(at < $1 AND xid < pg_snapshot_xmin(pg_current_snapshot())) OVER (ORDER BY xid, seq) AS _old
			FROM (SELECT xid, seq, at FROM users_changes ORDER BY xid, seq LIMIT $2::int8) AS _first),
		_last AS (SELECT xid, seq FROM _oldest WHERE _old ORDER BY xid DESC, seq DESC LIMIT 1),
		_begin AS (UPDATE users_changes c SET op = 'begin', id = NULL FROM _last
			WHERE c.xid = _last.xid AND c.seq = _last.seq AND op <> 'begin')
		DELETE FROM users_changes c USING _last WHERE (c.xid, c.seq) < (_last.xid, _last.seq)`

	// pruneOthers deletes the entries of transactions that this server has not had yet: a dump of another has brought them.
	pruneOthers = "DELETE FROM users_changes WHERE xid >= pg_snapshot_xmax(pg_current_snapshot())"
)

// usersOf finds the users with certain ids, in the same order. LIMIT keeps the planner from reading all users.
func usersOf(columns string) string {
	return "SELECT _user.* FROM unnest($1::int8[]) WITH ORDINALITY AS _wanted (_id, _place), LATERAL (SELECT " + columns +
		" FROM users WHERE id = _wanted._id LIMIT 1) AS _user ORDER BY _place"
}

// records is true of a table u whose changes are recorded: the table and all triggers are as this program makes them.
func records() string {
	var triggers []string
	for _, t := range feedTriggers {
		triggers = append(triggers, fmt.Sprintf("'%s %s %s'", t.name, t.kind, t.state))
	}
	return fmt.Sprintf(`(u.relkind = 'r' AND u.relpersistence = 'p'
		AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = u.oid OR inhparent = u.oid)
		AND EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('users_changes') AND relnamespace = u.relnamespace
			AND relpersistence = 'p' AND relkind = 'r')
		AND %d = (SELECT count(*) FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
				JOIN pg_namespace n ON n.oid = u.relnamespace
			WHERE g.tgrelid = u.oid AND concat_ws(' ', g.tgname, g.tgtype, g.tgenabled) IN (%s) AND g.tgqual IS NULL
			AND p.prosecdef AND p.prosrc = replace($record$%s$record$, 'SCHEMA', quote_ident(n.nspname))))`,
		len(triggers), strings.Join(triggers, ", "), recordFunction)
}

// feedDefinition asks for the definition of the feed, whether this user may read it, and whether the server is a standby;
// without a feed, it finds no row. A cursor is valid as long as the definition is the same: it names the cluster, its
// history (a new one begins when a standby is promoted), the database, and what changes when the columns or the triggers
// are changed, which no trigger records, or the name of the schema, without which the triggers record nothing.
var feedDefinition = `SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
		(SELECT oid FROM pg_database WHERE datname = current_database()),
		CASE WHEN pg_is_in_recovery() THEN $1::text ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END, u.oid, f.oid, f.xmin,
		(SELECT xmin FROM pg_namespace WHERE oid = u.relnamespace),
		(SELECT string_agg(concat(attnum, ':', xmin), ' ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = u.oid AND attnum > 0),
		(SELECT string_agg(concat(g.oid, ':', g.xmin, ':', p.xmin), ' ' ORDER BY g.oid)
			FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid WHERE tgrelid = u.oid AND starts_with(tgname, 'users_changes_')),
		(SELECT string_agg(concat(e.oid, ':', e.xmin), ' ' ORDER BY e.oid) FROM pg_enum e WHERE enumtypid IN (
			SELECT unnest(ARRAY[t.oid, t.typbasetype]) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
			WHERE attrelid = u.oid))),
		has_table_privilege(f.oid, 'SELECT'), pg_is_in_recovery() AND $1::text IS NULL
		FROM pg_class u JOIN pg_class f ON f.oid = to_regclass('users_changes')
		WHERE u.oid = to_regclass('users') AND ` + records()
