package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// importTable is what an import must know of the table, which may be another program's. Once it has looked, nobody can
// change it before the import ends.
type importTable struct {
	// together: rows that are stored by one statement are stored as by one statement each. A view, a rule, a trigger
	// for statements and a table that others inherit from make it possible that they are not.
	together bool
	// triggers: a trigger may change or remove what was stored.
	triggers bool
	// lookup: each user has an id of its own, and an index finds the one user who has an email.
	lookup bool
	// emailType is the type of an email, as it is written in a statement.
	emailType string
}

// A trigger for rows that asks for all rows of its statement is one for statements. ON CONFLICT refuses a table with a
// constraint that is checked at the end of the transaction.
const describeImport = `SELECT c.relkind IN ('r', 'p') AND NOT c.relhasrules AND (c.relkind = 'p' OR NOT c.relhassubclass)
		AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal
			AND (t.tgtype & 1 = 0 OR t.tgnewtable IS NOT NULL OR t.tgoldtable IS NOT NULL))
		AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND NOT i.indimmediate),
	c.relhastriggers OR c.relkind = 'p', ` + onlyKey + `'id' AND a.attnotnull) AND ` + onlyKey + `'email'),
	format_type(COALESCE(NULLIF(y.typbasetype, 0), y.oid), -1)
	FROM pg_class c JOIN pg_attribute e ON e.attrelid = c.oid AND e.attname = 'email' JOIN pg_type y ON y.oid = e.atttypid
	WHERE c.oid = to_regclass('users')`

// onlyKey asks whether a unique index is on one column alone.
const onlyKey = `EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
	WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
	AND i.indnkeyatts = 1 AND a.attname = `

// look looks at the table. A lock that only the change of a table waits for keeps it as it was seen.
func (i *fileImport) look(ctx context.Context) (err error) {
	if i.is, err = i.conn.describeImport(ctx); err != nil {
		return err
	}
	if i.is.together {
		if err := i.conn.simple(ctx, "LOCK TABLE users IN ROW EXCLUSIVE MODE"); err != nil {
			return err
		}
		if i.is, err = i.conn.describeImport(ctx); err != nil {
			return err
		}
	}
	if !i.is.together {
		i.together = 1
	}
	if !i.is.lookup {
		return nil
	}
	// The planner believes what it knew of the table when the import began. A scan of all users for each chunk would take
	// hours, so it is told that it must use the index.
	return i.conn.simple(ctx, "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; "+
		"SET LOCAL enable_mergejoin = off; SET LOCAL jit = off")
}

func (c connection) describeImport(ctx context.Context) (t importTable, err error) {
	err = c.query(ctx, func(rows pgx.Rows) error {
		return rows.Scan(&t.together, &t.triggers, &t.lookup, &t.emailType)
	}, describeImport)
	return t, err
}

// chunkTexts are the statements that an import runs for many rows at once.
type chunkTexts struct{ find, insert string }

func (t table) chunkTexts(emailType string) chunkTexts {
	names, now := t.columnsOfNew()
	return chunkTexts{
		// LIMIT keeps the planner from turning the look-ups into a join of all users.
		find: fmt.Sprintf("SELECT n.place, u.id::int8, u.name FROM unnest($1::text[]) WITH ORDINALITY AS n (email, place), "+
			"LATERAL (SELECT id, COALESCE(name::text, '') AS name FROM users WHERE email = n.email::%s LIMIT 1) AS u", emailType),
		insert: fmt.Sprintf("INSERT INTO users (%s) SELECT name, email%s FROM unnest($1::text[], $2::text[]) "+
			"WITH ORDINALITY AS n (name, email, place) ORDER BY place ON CONFLICT DO NOTHING RETURNING id::int8", names, now),
	}
}
