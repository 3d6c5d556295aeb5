package database

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"users-api/models"
)

// expectServer returns an error if the server or the database is not one that can be served, and logs what makes an
// acknowledged write less durable than it should be.
func (p *postgresPool) expectServer(ctx context.Context) error {
	var version int
	var encoding, causes string
	err := p.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT current_setting('server_version_num')::int8, current_setting('server_encoding'), concat_ws(', ',
			CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit is off' END,
			CASE WHEN current_setting('synchronous_commit') = 'local' AND current_setting('synchronous_standby_names') <> ''
				THEN 'synchronous_commit is local' END,
			CASE WHEN current_setting('fsync') = 'off' THEN 'fsync is off' END,
			CASE WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes is off' END,
			(SELECT 'the table users is UNLOGGED' FROM pg_class WHERE oid = to_regclass('users') AND relpersistence = 'u'))`).
			Row().Scan(&version, &encoding, &causes)
	})
	if causes != "" {
		p.logger.Warn("PostgreSQL may lose what it has stored", "cause", causes,
			"risk", "a crash takes the last writes that were answered, or more")
	}
	switch {
	case err != nil:
		return err
	case version < 130000:
		return fmt.Errorf("it is version %d.%d: 13 or newer is needed", version/10000, version/100%100)
	case encoding != "UTF8":
		return fmt.Errorf("its encoding is %s, which cannot hold every name: create a database with `createdb --encoding=UTF8 "+
			"--template=template0 -O %s NAME`, move the data there with pg_dump and pg_restore, and name it in DATABASE_URL",
			encoding, p.address.username)
	}
	return nil
}

func (postgresDialect) kindOfUsers() string {
	return `SELECT c.relkind = 'r', EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
			WHERE i.indrelid = c.oid AND i.indisprimary AND i.indnatts = 1 AND a.attname = 'id'
				AND a.atttypid::regtype IN ('smallint', 'integer', 'bigint'))
		FROM pg_class c WHERE c.oid = to_regclass('users')`
}

// columns: a statement that opens a table makes the session notice what others have committed to the catalog.
func (postgresDialect) columns() string {
	return `SELECT attname AS name, translate(format_type(atttypid, NULL), '"', '') AS type FROM pg_attribute
		WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped`
}

func (postgresDialect) accepts(typeName string, isTime bool) (fits bool, types string) {
	if isTime {
		return strings.HasPrefix(typeName, "timestamp "), "timestamp or timestamptz"
	}
	return typeName == "text" || typeName == "character varying", "text or varchar"
}

// uniqueColumns: the server writes brackets and types into the condition of an index of the values that are not empty, more of
// them if the column is a varchar, and quotes if its settings say so.
func (postgresDialect) uniqueColumns() string {
	return `SELECT DISTINCT a.attname AS name, i.indkey[0] = 0 AS ignores_case
		FROM pg_index i JOIN pg_class index ON index.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = i.indrelid
		WHERE i.indrelid = to_regclass('users') AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indnkeyatts = 1
			AND (i.indkey[0] = a.attnum AND (i.indpred IS NULL
					OR replace(translate(pg_get_expr(i.indpred, i.indrelid), '()"', ''), '::text', '') = a.attname || ' <> ''''')
				OR a.attname = 'email' AND i.indkey[0] = 0 AND i.indpred IS NULL AND index.relname = 'users_email_nocase')`
}

func (d postgresDialect) hasSearchIndex(db *gorm.DB, _ []string) (has bool, err error) {
	err = db.Raw(`SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = to_regclass('users') AND i.indisvalid AND `+isSearchIndex+`
		AND obj_description(i.indexrelid, 'pg_class') = ?)`, d.indexComment()).Row().Scan(&has)
	return has, err
}

func (postgresDialect) cutTime(column string) string { return "date_trunc('second', " + column + ")" }

// schemaTimeout is how long a change of the schema waits for other programs.
const schemaTimeout = 30 * time.Second

// changeSchema changes the schema in one transaction, and beside no other change: it begins with a lock that only other
// changes, and VACUUM, wait for. What comes after it may need a lock that everything waits for: so it waits for no more
// than half a second, and is tried again while another program holds the table.
func (p *postgresPool) changeSchema(ctx context.Context, change func(tx *gorm.DB, dialect dialect) error) error {
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED; " + p.address.noLimit + "SET LOCAL lock_timeout = '5s'; " +
		"LOCK TABLE users IN SHARE UPDATE EXCLUSIVE MODE; SET LOCAL lock_timeout = '500ms'"
	for until := time.Now().Add(schemaTimeout); ; {
		changed := func(tx *gorm.DB) error { return change(tx, p.dialect) }
		err := p.attempt(ctx, until.Add(schemaTimeout), context.DeadlineExceeded, begin, changed)
		// A build of an index that a killed command has begun lets go of its lock just before its end.
		isBusy := troubleOf(err) == locked || class(sqlState(err)) == "XX" && time.Until(until) > schemaTimeout/2
		switch {
		case err == nil, ctx.Err() != nil, !isBusy && sqlState(err) == "" && !troubleOf(err).isConnections():
			return cmp.Or(ctx.Err(), err)
		case !isBusy:
			return p.explain(err)
		case time.Until(until) < time.Second:
			return fmt.Errorf("nothing was changed, because another program was using users for %s "+
				"(pg_stat_activity shows which): try again when it has ended", schemaTimeout)
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// indexSearch makes an index of trigrams for each column, with which the server finds the users whose field contains a
// text. It is on the expression that searches compare, and the server compares what it finds, so searches find the same.
//
// No write waits: PostgreSQL builds these indexes beside them, which no transaction can do. A build that is broken off
// leaves an index that is not valid, which is removed at once, or by the next command.
func (p *postgresPool) indexSearch(ctx context.Context, fields models.Fields) error {
	var schema string
	err := p.changeSchema(ctx, func(tx *gorm.DB, dialect dialect) error {
		if _, err := look(tx, dialect, fields); err != nil {
			return err
		}
		if err := dialect.dropSearchIndex(tx); err != nil {
			return err
		}
		if err := tx.Exec("CREATE EXTENSION IF NOT EXISTS pg_trgm").Error; err != nil {
			return &models.StorageError{Text: fmt.Sprintf("the extension pg_trgm is needed: %v: install PostgreSQL's contrib "+
				"modules on the server (Debian's postgresql has them), and as a superuser or the owner of the database, run "+
				"`CREATE EXTENSION pg_trgm`", err)}
		}
		return tx.Raw(`SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
			WHERE e.extname = 'pg_trgm'`).Row().Scan(&schema)
	})
	if err != nil {
		return err
	}
	var statements []string
	for _, column := range fields.Settable().Names() {
		// The index collects 512 kB before a creation sorts them into it, and waits for that. Of creations by 64 clients, p99
		// is 16 ms then, and 46 ms with PostgreSQL's 4 MB, at the same rate.
		statements = append(statements, fmt.Sprintf("CREATE INDEX CONCURRENTLY users_search_%s ON users "+
			"USING gin ((%s) %s.gin_trgm_ops) WITH (gin_pending_list_limit = 512)", column, p.dialect.fold(quote(column)+"::text"), schema),
			fmt.Sprintf("COMMENT ON INDEX users_search_%s IS '%s'", column, p.dialect.indexComment()))
	}
	// Only with figures about the expressions can the planner tell rare texts from frequent ones.
	statements = append(statements, "ANALYZE users")
	err = p.connection(ctx, func(db *gorm.DB, server *pgx.Conn) error {
		// In a session of a pooler, they would stay for others.
		err := db.Exec("SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false) "+
			"WHERE pg_backend_pid() = ?", int64(server.PgConn().PID())).Error
		for _, statement := range statements {
			if err == nil {
				err = db.Exec(statement).Error
			}
		}
		return err
	})
	if err != nil {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*schemaTimeout)
		defer cancel()
		drop := func(tx *gorm.DB, dialect dialect) error { return dialect.dropSearchIndex(tx) }
		if failed := p.changeSchema(limited, drop); failed != nil {
			p.logger.Warn("an unfinished index of searches may be left: run the command again", "error", failed)
		}
	}
	return p.explain(err)
}

// isSearchIndex is true of the index i if indexSearch has made it: one of trigrams, with the name of a column.
const isSearchIndex = `EXISTS (SELECT FROM pg_class index JOIN pg_attribute a ON a.attrelid = i.indrelid
	JOIN pg_opclass o ON o.oid = i.indclass[0] WHERE index.oid = i.indexrelid AND o.opcname = 'gin_trgm_ops'
	AND index.relname = 'users_search_' || a.attname AND i.indnatts = 1 AND i.indkey[0] = 0 AND i.indpred IS NULL)`

// dropSearchIndex removes the indexes of searches, and leaves the extension, which others may use.
func (postgresDialect) dropSearchIndex(tx *gorm.DB) error {
	var names []string
	err := tx.Raw(`SELECT i.indexrelid::regclass::text FROM pg_index i
		WHERE i.indrelid = to_regclass('users') AND ` + isSearchIndex).Scan(&names).Error
	if err != nil || len(names) == 0 {
		return err
	}
	return tx.Exec("DROP INDEX " + strings.Join(names, ", ")).Error
}
