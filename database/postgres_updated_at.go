package database

import (
	"slices"

	"gorm.io/gorm"

	"users-api/models"
)

// setsUpdatedAt is true of the trigger g that gives updated_at the time of each insertion and change.
const setsUpdatedAt = `(g.tgname = 'users_updated_at_set' AND g.tgenabled <> 'D'
	AND EXISTS (SELECT FROM pg_proc WHERE oid = g.tgfoid AND proname = 'users_updated_at_set'))`

// isTimestamp is true of a column a that updated_at can be.
const isTimestamp = "(a.attname = 'updated_at' AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype))"

// createSetter makes the trigger. A change that changes nothing else leaves the time, and so does a copy.
const createSetter = `
DROP FUNCTION IF EXISTS SCHEMA.users_updated_at_set() CASCADE;
CREATE FUNCTION SCHEMA.users_updated_at_set() RETURNS trigger LANGUAGE plpgsql SET timezone = 'UTC' AS $set$
BEGIN
	IF current_setting('users_api.copies', true) IS DISTINCT FROM 'on'
		AND (TG_OP = 'INSERT' OR to_jsonb(NEW) - 'updated_at' <> to_jsonb(OLD) - 'updated_at') THEN
		NEW.updated_at := date_trunc('second', clock_timestamp());
	END IF;
	RETURN NEW;
END $set$;
CREATE TRIGGER users_updated_at_set BEFORE INSERT OR UPDATE ON users
	FOR EACH ROW EXECUTE FUNCTION SCHEMA.users_updated_at_set()`

func setPostgresUpdatedAt(tx *gorm.DB) error {
	return runUnless(tx, `NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND `+isTimestamp+`)`,
		errNoTime.Error(), createSetter)
}

// addPostgresUpdatedAt adds the column, unless it is there, and the trigger. Where the type is changed, no trigger takes
// the time of users who exist for a change.
func addPostgresUpdatedAt(tx *gorm.DB) error {
	before, err := addColumn(tx, postgresDialect{}, models.UpdatedAt)
	if err == nil && !slices.Contains(before.columns, models.UpdatedAt) {
		err = tx.Exec(`ALTER TABLE users ALTER COLUMN updated_at TYPE timestamptz(0)
			USING date_trunc('second', nullif(created_at::text, '')::timestamptz)`).Error
	}
	if err != nil {
		return err
	}
	return setPostgresUpdatedAt(tx)
}
