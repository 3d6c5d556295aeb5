package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// isPlain says of a table c of pg_class that a statement changes the rows that it names and no others, and returns what is
// stored then: a view, a trigger, a rule and a table that inherits make it possible that it does not.
const isPlain = `c.relkind = 'r' AND NOT c.relhasrules AND NOT c.relhassubclass
	AND (NOT c.relhastriggers OR NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal))`

// ifPlain is a condition for statements that may only be run while the table is plain. It is asked in the statement itself,
// which holds a lock on the table: a trigger can be made before it or after it, and not meanwhile. It takes about 10 µs.
// Where it does not hold the statement fails, so that what a trigger for each statement did is taken back, and the
// transaction that looks after itself is taken. The text that is no boolean is what the server's log says of it.
const ifPlain = `(SELECT CASE WHEN ` + isPlain + ` THEN true
	ELSE (c.relname || ' has triggers or rules: users-api writes to it in another way from now on')::bool END
	FROM pg_class c WHERE c.oid = 'users'::regclass)`

// lookForRules notes whether the table is plain, so that statements which would only fail are not tried.
func (d *database) lookForRules(ctx context.Context, conn connection) error {
	plain, _, err := conn.number(ctx, "SELECT ("+isPlain+")::int::int8 FROM pg_class c WHERE c.oid = 'users'::regclass")
	if err == nil {
		d.rules.Store(plain == 0)
	}
	return err
}

// errRules: the table is not plain.
var errRules = errors.New("the table has rules of its own")

// ruled returns errRules for the error of a statement whose ifPlain did not hold. It may have another reason, which the
// transaction that looks after itself meets again.
func ruled(err error) error {
	if sqlState(err) == codeInvalidText {
		return errRules
	}
	return err
}

// insertTexts are the statements that create users. They are written out, because GORM knows no INSERT from arrays, and
// takes longer to build one of many rows than PostgreSQL to carry it out. Their names are those of [models.User], which a
// test compares.
type insertTexts struct {
	many, one string
	ids       bool // the table gives every user an id
}

// insertTexts returns the texts for a table. The time is named because a table that another program made may have no
// default for it.
func (t table) insertTexts() insertTexts {
	names, now := t.columnsOfNew()
	return insertTexts{
		many: fmt.Sprintf("INSERT INTO users (%s) SELECT name, email%s FROM unnest($1::text[], $2::text[]) "+
			"WITH ORDINALITY AS n (name, email, place) WHERE %s ORDER BY place RETURNING id", names, now, ifPlain),
		one: fmt.Sprintf("INSERT INTO users (%s) VALUES ($1, $2%s) RETURNING id", names, now),
		ids: t.ids,
	}
}

// columnsOfNew returns the columns that are given to a new user, and the expression for the last of them where that is the
// time.
func (t table) columnsOfNew() (names, now string) {
	if now = t.now(); now == "" {
		return "name, email", ""
	}
	return "name, email, created_at", ", " + now
}

// now returns the expression for the time of now in the type of the column: in UTC, and to the second, as it is shown.
// It is "" where the table makes it itself.
func (t table) now() string {
	if t.ownTime {
		return ""
	}
	switch t.timeType {
	case "timestamptz":
		return "date_trunc('second', now())"
	case "timestamp":
		return "date_trunc('second', now() AT TIME ZONE 'UTC')"
	case "date":
		return "(now() AT TIME ZONE 'UTC')::date"
	case "text", "varchar", "bpchar":
		return "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
	}
	return ""
}

// insert stores users in a plain table, and returns their ids.
func (t insertTexts) insert(ctx context.Context, conn connection, users []models.NewUser) (ids []int64, err error) {
	if !t.ids {
		return nil, errRules
	}
	names, emails := make([]string, len(users)), make([]string, len(users))
	for i, user := range users {
		names[i], emails[i] = user.Name, user.Email
	}
	err = conn.query(ctx, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, t.many, names, emails)
	return ids, ruled(err)
}

// insertAlone stores a user by a statement of its own.
func (c *committer) insertAlone(user models.NewUser) (id int64, err error) {
	err = c.database.on(context.Background(), write, func(ctx context.Context, conn connection) error {
		ids, err := c.texts.insert(ctx, conn, []models.NewUser{user})
		if err == nil {
			id = ids[0]
		}
		return err
	})
	if errors.Is(err, errRules) {
		return c.insertByRules(user)
	}
	if err == nil {
		c.database.commits.Count(1)
	}
	return id, err
}

const newestID = "SELECT max(id)::int8 FROM users WHERE email = $1"

// insertByRules stores a user in a table that has triggers, is a view, or gives ids by other rules, and returns the id of
// what is there then. Where none is returned, it is asked who has the email and had it not before.
func (c *committer) insertByRules(user models.NewUser) (id int64, err error) {
	err = c.database.on(context.Background(), write, func(ctx context.Context, conn connection) error {
		return conn.transaction(ctx, func(conn connection) (err error) {
			if err = c.database.lookForRules(ctx, conn); err == nil {
				id, err = c.texts.insertByRules(ctx, conn, user)
			}
			return err
		})
	})
	if err == nil {
		c.database.commits.Count(1)
	}
	return id, err
}

func (t insertTexts) insertByRules(ctx context.Context, conn connection, user models.NewUser) (int64, error) {
	before, _, err := conn.number(ctx, newestID, user.Email)
	if err != nil {
		return 0, err
	}
	returned, hasID, err := conn.number(ctx, t.one, user.Name, user.Email)
	if err != nil {
		return 0, err
	}
	if hasID {
		_, stored, err := conn.number(ctx, "SELECT id FROM users WHERE id = $1::int8", returned)
		if err != nil || stored {
			return returned, err
		}
	}
	after, found, err := conn.number(ctx, newestID, user.Email)
	if err == nil && (!found || after == before) {
		err = models.ErrIgnored
	}
	return after, err
}
