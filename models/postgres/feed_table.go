package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"users-api/models"
)

// The feed is the table users_changes, which triggers of users fill.
//
// A number from a sequence does not follow the order of commits: it is given to an entry before the commit. So the key of
// an entry begins with the number of its transaction, and entries are shown once no transaction with that number or a
// lower one is under way (below xmin of the snapshot): whatever commits later has a higher key. A transaction that stays
// open holds the feed back.
//
// Triggers for statements record most writes: one for 64 users costs about as much as one for a single user. They do not
// fire for what logical replication writes, and triggers for rows do. So a trigger for rows is enabled for replicas alone,
// and there the others record nothing, except TRUNCATE, for which there is no trigger for rows.
//
// If the table is not found, because another program has removed it or renamed its schema, writes succeed and the feed
// ends.
//
// Only what is on disk may be recorded, because a crash takes the numbers of transactions back that are not: clients would
// have cursors beyond them. So a transaction that writes users waits for the disk, whatever its synchronous_commit is.

// feedTriggers are the triggers of the table users: their names, events, types and states in pg_trigger.
var feedTriggers = []struct{ name, event, kind, state string }{
	{"users_changes_created", "INSERT ON users REFERENCING NEW TABLE AS _new", "4", "A"},
	{"users_changes_changed", "UPDATE ON users REFERENCING OLD TABLE AS _old NEW TABLE AS _new", "16", "A"},
	{"users_changes_deleted", "DELETE ON users REFERENCING OLD TABLE AS _old", "8", "A"},
	{"users_changes_truncated", "TRUNCATE ON users", "32", "A"},
	{"users_changes_replicated", "INSERT OR UPDATE OR DELETE ON users", "29", "R"},
}

// feedStates are the ALTER TABLE and FOR EACH of the states in pg_trigger.
var feedStates = map[string][2]string{"A": {"ALWAYS", "STATEMENT"}, "R": {"REPLICA", "ROW"}}

// recordFunction is the body of the function that the triggers call; SCHEMA is that of users.
var recordFunction = fmt.Sprintf(`
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
	ELSIF TG_LEVEL = 'ROW' THEN
		IF TG_OP = 'UPDATE' AND OLD.id = NEW.id THEN
			INSERT INTO SCHEMA.users_changes (op, id) VALUES ('%[2]s', NEW.id);
		ELSE
			IF TG_OP <> 'INSERT' THEN
				INSERT INTO SCHEMA.users_changes (op, id) VALUES ('%[3]s', OLD.id);
			END IF;
			IF TG_OP <> 'DELETE' THEN
				INSERT INTO SCHEMA.users_changes (op, id) VALUES ('%[4]s', NEW.id);
			END IF;
		END IF;
	ELSIF current_setting('session_replication_role') <> 'replica' THEN
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
END
`, models.OpMany, models.OpChanged, models.OpDeleted, models.OpCreated, models.MostRecorded)

// createFeed returns the statements that make the table and its triggers in a schema. The function runs with the rights of
// its owner, and no other trigger may call it.
func createFeed(schema string) string {
	script := strings.NewReplacer("SCHEMA", schema).Replace(`
		CREATE TABLE SCHEMA.users_changes (xid xid8 NOT NULL DEFAULT pg_current_xact_id(), seq bigint GENERATED ALWAYS AS IDENTITY,
			op text NOT NULL, id bigint, at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (xid, seq));
		CREATE INDEX users_changes_begin ON SCHEMA.users_changes (xid, seq) WHERE op = 'begin';
		CREATE FUNCTION SCHEMA.users_changes_record() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
			SET search_path = pg_catalog, pg_temp AS $record$` + recordFunction + `$record$;
		REVOKE ALL ON FUNCTION SCHEMA.users_changes_record() FROM PUBLIC;`)
	for _, t := range feedTriggers {
		script += fmt.Sprintf("CREATE TRIGGER %[1]s AFTER %[2]s FOR EACH %[3]s EXECUTE FUNCTION %[4]s.users_changes_record();"+
			"ALTER TABLE users ENABLE %[5]s TRIGGER %[1]s;", t.name, t.event, feedStates[t.state][1], schema, feedStates[t.state][0])
	}
	return script
}

// dropFeed returns the statements that remove what createFeed makes, as far as it exists.
func dropFeed(schema string) string {
	script := ""
	for _, t := range feedTriggers {
		script += "DROP TRIGGER IF EXISTS " + t.name + " ON users;"
	}
	return script + fmt.Sprintf("DROP FUNCTION IF EXISTS %[1]s.users_changes_record(); "+
		"DROP TABLE IF EXISTS %[1]s.users_changes;", schema)
}

// RecordChanges begins to record changes in the database that a URL names, beside running services. If it records them
// already, it goes on.
func RecordChanges(ctx context.Context, url string, logger *slog.Logger) error {
	return changeFeed(ctx, url, logger, func(conn connection, schema string) error {
		if definition, _, err := conn.feedDefinition(ctx); definition != "" || err != nil {
			return err
		}
		if err := conn.simple(ctx, dropFeed(schema)+createFeed(schema)); err != nil {
			return err
		}
		definition, _, err := conn.feedDefinition(ctx)
		if err == nil && definition == "" {
			err = &models.StorageError{Text: "a table users_changes of another schema comes first on the search path: rename it, " +
				"or give users-api a schema of its own", Code: codeUnserved}
		}
		return err
	})
}

// ForgetChanges ends the recording of changes, and removes what was recorded.
func ForgetChanges(ctx context.Context, url string, logger *slog.Logger) error {
	return changeFeed(ctx, url, logger, func(conn connection, schema string) error {
		return conn.simple(ctx, dropFeed(schema))
	})
}

// changeFeed runs a change of the feed of an ordinary table, unless users_changes is another program's.
func changeFeed(ctx context.Context, url string, logger *slog.Logger,
	change func(conn connection, schema string) error) error {
	return changeSchema(ctx, url, logger, func(d *database) error {
		return d.alone(ctx, func(conn connection) error {
			var schema, refusal string
			err := conn.value(ctx, &schema, schemaOfUsers)
			if err == nil {
				err = conn.value(ctx, &refusal, whyNoFeed)
			}
			if err == nil && refusal != "" {
				err = &models.StorageError{Text: refusal, Code: codeUnserved}
			}
			if err != nil {
				return err
			}
			return change(conn, schema)
		})
	})
}
