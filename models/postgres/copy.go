package postgres

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

// errNoTime: what is shown of a user's time is none.
var errNoTime = errors.New("the time of creation is no time")

// store sends all users. PostgreSQL refuses them all for the sake of one, so then it is found out which these are.
func (f *filling) store(ctx context.Context) error {
	f.sent = sha256.New()
	err := f.conn.inSavepoint(ctx, func() error { return f.sendAll(ctx) })
	if !isOfRow(err) && !errors.Is(err, errNoTime) {
		return err
	}
	if refused := f.findRefused(ctx); refused != nil {
		return refused
	}
	return err
}

// sendAll sends the users by the COPY protocol, as text: pgx's own binary form would leave a prepared statement behind in
// the session, which belongs to others when a pooler stands in between.
func (f *filling) sendAll(ctx context.Context) error {
	out, in := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := f.writeAll(in)
		_ = in.CloseWithError(err) // the end of the users where it is nil
		written <- err
	}()
	_, err := f.conn.PgConn().CopyFrom(ctx, out, "COPY users (id, name, email, created_at) FROM STDIN")
	_ = out.Close()
	if failed := <-written; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

// writeAll writes the users as COPY reads them (postgresql.org/docs/current/sql-copy.html).
func (f *filling) writeAll(to io.Writer) error {
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
		line = models.AppendUser(line[:0], &user)
		_, _ = f.sent.Write(line) // it never fails
		line = strconv.AppendInt(line[:0], user.ID, 10)
		line = appendText(append(line, '\t'), user.Name)
		line = appendText(append(line, '\t'), user.Email)
		if line = append(line, '\t'); created == nil {
			line = append(line, `\N`...)
		} else {
			line = appendText(line, *created)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
		f.step()
	}
	return out.Flush()
}

// copyEscapes are the bytes that COPY does not take as they stand.
var copyEscapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

func appendText(to []byte, text string) []byte { return append(to, copyEscapes.Replace(text)...) }

// time returns a time that is shown as the column takes it. None is NULL, which is shown as none again.
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

// mostRefused is how many users that cannot be stored are told at most.
const mostRefused = 100

// RefusedUsers are users that PostgreSQL does not take.
type RefusedUsers struct {
	reasons []string           // in the order in which they were met
	ids     map[string][]int64 // by reason
	count   int
}

func (r *RefusedUsers) add(id int64, reason string) {
	if r.ids[reason] == nil {
		r.reasons = append(r.reasons, reason)
	}
	r.ids[reason] = append(r.ids[reason], id)
	r.count++
}

// Error names the users by their ids, and neither by name nor by email.
func (r *RefusedUsers) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "nothing was copied: PostgreSQL does not take %d users", r.count)
	if r.count == mostRefused {
		text.WriteString(" or more")
	}
	for _, reason := range r.reasons {
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.ids[reason]), " ", ", "), "[]")
		fmt.Fprintf(&text, "; %s: those with the ids %s", reason, ids)
	}
	return text.String()
}

// findRefused stores the users in chunks, halves those that fail, and returns the users that are refused; nil where there
// are none.
func (f *filling) findRefused(ctx context.Context) error {
	refused := &RefusedUsers{ids: map[string][]int64{}}
	var chunk []models.User
	for user, err := range f.from.Users() {
		if err != nil {
			return err
		}
		if chunk = append(chunk, user); len(chunk) < chunkRows {
			continue
		}
		if err := f.try(ctx, chunk, refused); err != nil {
			return err
		}
		chunk = chunk[:0]
	}
	if err := f.try(ctx, chunk, refused); err != nil {
		return err
	}
	if refused.count == 0 {
		return nil
	}
	return refused
}

// try stores users, and finds those that are refused.
func (f *filling) try(ctx context.Context, users []models.User, refused *RefusedUsers) error {
	if len(users) == 0 || refused.count == mostRefused {
		return nil
	}
	err := f.conn.inSavepoint(ctx, func() error { return f.insert(ctx, users) })
	switch {
	case err == nil:
		return nil
	case !isOfRow(err) && !errors.Is(err, errNoTime):
		return err
	case len(users) == 1:
		refused.add(users[0].ID, withoutData(err, users[0]))
		return nil
	}
	half := len(users) / 2
	if err := f.try(ctx, users[:half], refused); err != nil {
		return err
	}
	return f.try(ctx, users[half:], refused)
}

// insert stores users by one statement.
func (f *filling) insert(ctx context.Context, users []models.User) error {
	ids, names, emails := make([]int64, len(users)), make([]string, len(users)), make([]string, len(users))
	times := make([]*string, len(users))
	for i, user := range users {
		created, err := f.users.table.time(user.CreatedAt)
		if err != nil {
			return err
		}
		ids[i], names[i], emails[i], times[i] = user.ID, user.Name, user.Email, created
	}
	_, err := f.conn.exec(ctx, "INSERT INTO users (id, name, email, created_at) OVERRIDING SYSTEM VALUE "+
		"SELECT id, name, email, created_at::"+f.users.table.timeType+
		" FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS n (id, name, email, created_at)", ids, names, emails, times)
	return err
}

// tellable are the SQLSTATEs whose texts name rules and no data, when they are PostgreSQL's own.
var tellable = []string{"22001", "22003", "22021", "23502", "23505", "23514", "54000"}

// withoutData returns why a user is refused, without the user's name and email: a function of the table may say anything.
func withoutData(err error, user models.User) string {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err.Error()
	}
	tells := func(secret string) bool { return len(secret) > 2 && strings.Contains(failed.Message, secret) }
	if !slices.Contains(tellable, failed.Code) || tells(user.Name) || tells(user.Email) {
		return fmt.Sprintf("%s (SQLSTATE %s)", meanings[class(failed.Code)], failed.Code)
	}
	return failed.Error()
}
