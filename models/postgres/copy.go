package postgres

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// errNoTime: what is shown as a user's time is not a time.
var errNoTime = errors.New("the time of creation is no time")

// store sends all users. PostgreSQL refuses all of them if it refuses one, so then the refused ones are searched for.
func (f *copier) store(ctx context.Context) error {
	f.sent = sha256.New()
	err := f.conn.inSavepoint(ctx, f.sendAll)
	if !isOfRow(err) && !errors.Is(err, errNoTime) {
		return err
	}
	if refused := f.findRefused(ctx); refused != nil {
		return refused
	}
	return err
}

// sendAll sends the users by the COPY protocol, as text: PostgreSQL itself converts it to the types of the columns, and
// nothing is prepared in a session that belongs to others if a pooler stands in between.
func (f *copier) sendAll(ctx context.Context) error {
	out, in := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := f.writeAll(in)
		_ = in.CloseWithError(err) // nil marks the end of the users
		written <- err
	}()
	_, err := f.conn.PgConn().CopyFrom(ctx, out, copyUsers(f.conn.fields))
	_ = out.Close()
	if failed := <-written; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

// writeAll writes the users as COPY reads them (postgresql.org/docs/current/sql-copy.html).
func (f *copier) writeAll(to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10)
	var line []byte
	for user, err := range f.from.Users() {
		if err != nil {
			return err
		}
		created, err := f.users.table.time(user.CreatedAt)
		if err != nil {
			return err
		}
		line = f.conn.fields.AppendUser(line[:0], &user)
		_, _ = f.sent.Write(line) // it never fails
		line = strconv.AppendInt(line[:0], user.ID, 10)
		for _, field := range f.conn.fields {
			line = appendColumn(line, field.Value(&user.NewUser))
		}
		line = appendColumn(line, created)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		f.step()
	}
	return out.Flush()
}

// copyEscapes escapes the bytes that COPY does not take literally.
var copyEscapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// appendColumn appends a column after another; nil is NULL.
func appendColumn(to []byte, text *string) []byte {
	if text == nil {
		return append(to, "\t\\N"...)
	}
	return append(append(to, '\t'), copyEscapes.Replace(*text)...)
}

// time returns a shown time as the column accepts it. An empty time becomes NULL, which is shown as empty again.
func (t table) time(shown string) (*string, error) {
	switch t.timeType {
	case "text", "varchar", "bpchar":
		return &shown, nil
	}
	if shown == "" {
		return nil, nil //nolint:nilnil // it is NULL
	}
	if _, err := time.Parse(time.DateTime, shown); err != nil {
		return nil, errNoTime
	}
	if t.timeType == "timestamptz" {
		shown += "+00"
	}
	return &shown, nil
}
