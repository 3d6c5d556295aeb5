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

var errEnough = errors.New("enough rows")

// users runs a statement that returns the columns of users, and calls add with each; errEnough ends it. The user is
// valid until add returns.
func (c connection) users(ctx context.Context, add func(*models.User) error, statement string, arguments ...any) error {
	var user models.User
	err := c.query(ctx, func(rows pgx.Rows) error {
		if err := c.read(rows, &user); err != nil {
			return err
		}
		return add(&user)
	}, statement, append([]any{c.formats()}, arguments...)...)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (c connection) one(ctx context.Context, statement string, arguments ...any) (user models.User, err error) {
	found := false
	err = c.users(ctx, func(one *models.User) error {
		user, found = *one, true
		return nil
	}, statement, arguments...)
	if err == nil && !found {
		err = models.ErrNotFound
	}
	return user, err
}

// formats asks for the time as PostgreSQL stores it, and for everything else as text: the text of a time depends on
// settings of the session, the role and the database.
func (c connection) formats() pgx.QueryResultFormats {
	formats := make(pgx.QueryResultFormats, len(c.fields)+2) // 0 is text
	formats[len(formats)-1] = pgx.BinaryFormatCode
	return formats
}

func (c connection) read(rows pgx.Rows, user *models.User) error {
	values, last := rows.RawValues(), 1+len(c.fields)
	user.CreatedAt = shownTime(values[last], rows.FieldDescriptions()[last].DataTypeOID)
	return c.readFields(values, user)
}

// readFields reads the id and the fields, which come first in a row.
func (c connection) readFields(values [][]byte, user *models.User) (err error) {
	user.Added = nil // an earlier user keeps its own
	for i, field := range c.fields {
		if value := values[1+i]; value == nil {
			field.SetNull(&user.NewUser)
		} else {
			field.Set(&user.NewUser, string(value))
		}
	}
	user.ID, err = strconv.ParseInt(string(values[0]), 10, 64)
	return err
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
