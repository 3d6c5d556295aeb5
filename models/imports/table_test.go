package imports

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/models/spool"
	"users-api/models/storetest"
)

var ctx = context.Background()

// table is the plainest table of users: in memory, with a unique email in any letter case.
type table struct {
	users   []models.User
	lastID  int64
	refuses func(models.NewUser) error // what a rule of the table says of a user that is stored
	inserts []int                      // how many users each creation had
	lookups int
	begun   func() // is called before each step
}

var (
	errDuplicate = &models.StorageError{Text: "duplicate", Duplicate: true}
	errRule      = &models.StorageError{Text: "a rule"}
	errLast      = &models.StorageError{Text: "a rule that ends the transaction"}
	errServer    = errors.New("the server is gone")
)

func (t *table) byEmail(email string) int {
	return slices.IndexFunc(t.users, func(user models.User) bool { return strings.EqualFold(user.Email, email) })
}

func (t *table) byID(id int64) int {
	return slices.IndexFunc(t.users, func(user models.User) bool { return user.ID == id })
}

func (t *table) Find(_ context.Context, rows []models.ImportRow) (map[int]*models.User, error) {
	t.lookups++
	found := map[int]*models.User{}
	for i, row := range rows {
		if at := t.byEmail(row.User.Email); at >= 0 {
			user := t.users[at]
			found[i] = &user
		}
	}
	return found, nil
}

func (t *table) Get(_ context.Context, id int64) (models.User, error) {
	if at := t.byID(id); at >= 0 {
		return t.users[at], nil
	}
	return models.User{}, models.ErrNotFound
}

func (t *table) Insert(_ context.Context, rows []models.ImportRow) (ids []int64, err error) {
	t.inserts = append(t.inserts, len(rows))
	for _, row := range rows {
		t.lastID++
		if t.byEmail(row.User.Email) >= 0 {
			return nil, errDuplicate
		}
		if err := t.refuses(row.User); err != nil {
			return nil, err
		}
		t.users = append(t.users, models.User{ID: t.lastID, NewUser: row.User})
		ids = append(ids, t.lastID)
	}
	return ids, nil
}

func (t *table) Update(_ context.Context, updates []Update) error {
	for _, update := range updates {
		at := t.byID(update.ID)
		if at < 0 {
			return models.ErrIgnored
		}
		if err := t.refuses(update.User); err != nil {
			return err
		}
		for field := range storetest.Fields().In(update.Fields) {
			field.Set(&t.users[at].NewUser, *field.Value(&update.User))
		}
	}
	return nil
}

func (t *table) IDs(_ context.Context, from int64, limit int) (ids []int64, err error) {
	for _, user := range t.users {
		if user.ID >= from {
			ids = append(ids, user.ID)
		}
	}
	slices.Sort(ids)
	return ids[:min(limit, len(ids))], nil
}

func (t *table) Delete(_ context.Context, ids []int64) (deleted int, err error) {
	before := len(t.users)
	t.users = slices.DeleteFunc(t.users, func(user models.User) bool { return slices.Contains(ids, user.ID) })
	return before - len(t.users), nil
}

func (t *table) InSavepoint(ctx context.Context, run func(context.Context) error) error {
	t.begun()
	before := slices.Clone(t.users)
	err := run(ctx)
	if err != nil {
		t.users = before
	}
	return err
}

func (t *table) Refusal(_ context.Context, err error) (Blame, error) {
	switch {
	case errors.Is(err, errServer):
		return NoRow, err
	case errors.Is(err, errLast):
		return LastRow, err
	}
	return OneRow, err
}

// with returns a table that has users.
func with(users ...models.NewUser) *table {
	t := &table{refuses: func(models.NewUser) error { return nil }, begun: func() {}}
	for _, user := range users {
		t.lastID++
		t.users = append(t.users, models.User{ID: t.lastID, NewUser: user})
	}
	return t
}

// receive takes the rows of a file.
func receive(t *testing.T, users iter.Seq[models.NewUser], options models.ImportOptions, limits Limits) *Import {
	t.Helper()
	fields := storetest.Fields()
	rows := func(yield func(models.ImportRow, error) bool) {
		line := 1
		for user := range users {
			line++
			if !yield(models.ImportRow{Line: line, Values: models.Values{Fields: fields.All(), User: user}}, nil) {
				return
			}
		}
	}
	area := spool.NewArea(filepath.Join(t.TempDir(), "spool-"), fields)
	i, err := Receive(area, fields, rows, options, limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.Close)
	return i
}
