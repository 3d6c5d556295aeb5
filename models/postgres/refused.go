package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"users-api/models"
)

const mostRefused = 100

type refusedUsers struct {
	reasons []string           // in the order in which they were found
	ids     map[string][]int64 // by reason
	count   int
}

func (r *refusedUsers) add(id int64, reason string) {
	if r.ids[reason] == nil {
		r.reasons = append(r.reasons, reason)
	}
	r.ids[reason] = append(r.ids[reason], id)
	r.count++
}

// Error names the users by their ids, not by name or email.
func (r *refusedUsers) Error() string {
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

// findRefused stores the users in chunks, halves the chunks that fail, and returns the refused users, or nil if there
// are none.
func (f *copier) findRefused(ctx context.Context) error {
	refused := &refusedUsers{ids: map[string][]int64{}}
	var chunk []models.User
	for user, err := range f.from.Users() {
		if err != nil {
			return err
		}
		if chunk = append(chunk, user); len(chunk) < chunks.Rows {
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

func (f *copier) try(ctx context.Context, users []models.User, refused *refusedUsers) error {
	if len(users) == 0 || refused.count == mostRefused {
		return nil
	}
	err := f.conn.inSavepoint(ctx, func(ctx context.Context) error { return f.insert(ctx, users) })
	switch {
	case err == nil:
		return nil
	case !isOfRow(err) && !errors.Is(err, errNoTime):
		return err
	case len(users) == 1:
		refused.add(users[0].ID, f.withoutData(err, &users[0].NewUser))
		return nil
	}
	half := len(users) / 2
	if err := f.try(ctx, users[:half], refused); err != nil {
		return err
	}
	return f.try(ctx, users[half:], refused)
}

func (f *copier) insert(ctx context.Context, users []models.User) error {
	ids, times := make([]int64, len(users)), make([]*string, len(users))
	for i, user := range users {
		created, err := f.users.table.time(user.CreatedAt)
		if err != nil {
			return err
		}
		ids[i], times[i] = user.ID, created
	}
	values := arrays(f.conn.fields, len(users), func(i int) *models.NewUser { return &users[i].NewUser })
	values = slices.Concat([]any{ids}, values, []any{times})
	_, err := f.conn.exec(ctx, insertCopies(f.conn.fields, f.users.table.timeType), values...)
	return err
}

// tellable are the SQLSTATEs whose texts name rules and no data, if PostgreSQL itself wrote them.
var tellable = []string{"22001", "22003", "22021", "23502", "23505", "23514", "54000"}

// withoutData returns why a user is refused, without the texts of the user: the message of a function of the table may
// contain anything.
func (f *copier) withoutData(err error, user *models.NewUser) string {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err.Error()
	}
	tells := func(field *models.Field) bool {
		secret := field.Value(user)
		return secret != nil && len(*secret) > 2 && strings.Contains(failed.Message, *secret)
	}
	if !slices.Contains(tellable, failed.Code) || slices.ContainsFunc(f.conn.fields, tells) {
		return fmt.Sprintf("%s (SQLSTATE %s)", meanings[class(failed.Code)], failed.Code)
	}
	return failed.Error()
}
