package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"users-api/models"
)

// inBinary asks for the time as PostgreSQL stores it, and for everything else as text: the text of a time depends on
// settings of the session, the role and the database.
var inBinary = pgx.QueryResultFormats{pgx.TextFormatCode, pgx.TextFormatCode, pgx.TextFormatCode, pgx.BinaryFormatCode}

// errEnough ends a query before its last row.
var errEnough = errors.New("enough rows")

// users runs a statement that returns the columns of users, and calls add with each; errEnough ends it.
func (c connection) users(ctx context.Context, add func(models.User) error, statement string, arguments ...any) error {
	err := c.query(ctx, func(rows pgx.Rows) error {
		user, err := readUser(rows.RawValues(), rows.FieldDescriptions()[3].DataTypeOID)
		if err != nil {
			return err
		}
		return add(user)
	}, statement, append([]any{inBinary}, arguments...)...)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// one returns the user that a statement selects.
func (c connection) one(ctx context.Context, statement string, arguments ...any) (user models.User, err error) {
	err = models.ErrNotFound
	failed := c.users(ctx, func(one models.User) error {
		user, err = one, nil
		return nil
	}, statement, arguments...)
	if failed != nil {
		return user, failed
	}
	return user, err
}

// readUser returns the user in a row.
func readUser(values [][]byte, timeType uint32) (user models.User, err error) {
	user.Name, user.Email = string(values[1]), string(values[2])
	user.CreatedAt = shownTime(values[3], timeType)
	user.ID, err = strconv.ParseInt(string(values[0]), 10, 64)
	return user, err
}

// epoch is the second from which PostgreSQL counts: the start of the year 2000.
const epoch = 946_684_800

// shownTime returns a time as the list shows it. A time without a zone is taken to be in UTC.
func shownTime(stored []byte, timeType uint32) string {
	if timeType != pgtype.TimestamptzOID && timeType != pgtype.TimestampOID || len(stored) != 8 {
		return models.ShownTime(string(stored))
	}
	switch microseconds := int64(binary.BigEndian.Uint64(stored)); microseconds {
	case math.MaxInt64:
		return "infinity"
	case math.MinInt64:
		return "-infinity"
	default:
		return time.UnixMicro(microseconds).Add(epoch * time.Second).UTC().Format(time.DateTime)
	}
}
