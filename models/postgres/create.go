package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// ignoredMark is in the error of a statement if a trigger ignored one of its rows.
const ignoredMark = "a trigger of users ignored what was to be stored; rows: "

// whole wraps a statement that writes and returns rows: it fails, and has done nothing, if it returns fewer rows than
// expected, because a BEFORE trigger returned NULL for one of them. The expected number is an expression. The cast is
// what fails; its operand is not a constant, which PostgreSQL would evaluate while it plans.
func whole(statement, expected string) string {
	return fmt.Sprintf("WITH written AS (%s) SELECT * FROM written WHERE "+
		"(SELECT CASE WHEN count(*) = %s THEN true ELSE ('%s' || count(*))::bool END FROM written)", statement, expected, ignoredMark)
}

// ignored returns [models.ErrIgnored] for an error that [whole] has caused, and other errors as they are.
func ignored(err error) error {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if ok && failed.Code == codeInvalidText && strings.Contains(failed.Message, ignoredMark) {
		return models.ErrIgnored
	}
	return err
}

// insertText returns the statement that creates users and returns their ids in the same order. It is written by hand,
// because GORM has no INSERT from arrays, and takes longer to build one of many rows than PostgreSQL takes to run it.
// Its column names are those of [models.User]; a test compares them. The time is named because a table that another
// program created may have no default for it.
func (t table) insertText() string {
	columns, values := "name, email", "name, email"
	if now := t.now(); now != "" {
		columns, values = columns+", created_at", values+", "+now
	}
	return whole(fmt.Sprintf("INSERT INTO users (%s) SELECT %s FROM unnest($1::text[], $2::text[]) "+
		"WITH ORDINALITY AS n (name, email, place) ORDER BY place RETURNING id::int8", columns, values), "cardinality($1)")
}

// now returns the expression for the current time in the type of the column: in UTC, and to the second, as it is shown.
// It is "" if the table sets the time itself.
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

// insert runs the statement of [table.insertText], and returns the ids of the users.
func (c connection) insert(ctx context.Context, text string, users []models.NewUser) (ids []int64, err error) {
	names, emails := make([]string, len(users)), make([]string, len(users))
	for i, user := range users {
		names[i], emails[i] = user.Name, user.Email
	}
	ids = make([]int64, 0, len(users))
	err = c.query(ctx, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, text, names, emails)
	return ids, err
}
