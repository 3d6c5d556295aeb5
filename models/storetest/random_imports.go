package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// A snapshot is of one moment: while all users get another name again and again, each in one commit, all of a snapshot
// have one name.
func snapshots(t *testing.T, users models.Users) {
	const n, names = 3000, 4
	rename(t, users, n, "0")
	renamed := make(chan struct{})
	go func() {
		defer close(renamed)
		for i := range names {
			rename(t, users, n, fmt.Sprint(i+1))
		}
	}()
	for done := false; !done; {
		select {
		case <-renamed:
			done = true
		default:
		}
		expectOneName(t, users, n)
	}
	for range Exported(ctx, users, models.Query{}) {
		break // and nothing is left behind
	}
	var got []int64
	query := models.Query{Contains: "299", Limit: 3, Descending: true, Count: true}
	err := users.Export(ctx, query, func(export models.Export) error {
		if export.Last == nil || *export.Last != 2998 || export.Total != 13 {
			t.Errorf("of %d users found the last is %v", export.Total, export.Last)
		}
		for user, err := range export.Users {
			if got = append(got, user.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || !slices.Equal(got, []int64{3000, 2999, 2998}) {
		t.Errorf("a query gave %v, %v", got, err)
	}
}

// Exported yields the users of an export.
func Exported(ctx context.Context, users models.Users, query models.Query) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		left := errors.New("enough users")
		err := users.Export(ctx, query, func(export models.Export) error {
			for user, err := range export.Users {
				if err != nil {
					return err
				}
				if !yield(user, nil) {
					return left
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, left) {
			yield(models.User{}, err)
		}
	}
}

// rename gives n users one name in one commit, and creates them where they are not there.
func rename(t *testing.T, users models.Users, n int, name string) {
	t.Helper()
	rows := make([]models.NewUser, n)
	for i := range rows {
		rows[i] = models.NewUser{Name: name, Email: fmt.Sprint(i)}
	}
	_, err := users.Import(ctx, Rows(rows...), models.ImportOptions{OnConflict: models.ConflictUpdates})
	if err != nil {
		t.Error(err)
	}
}

func expectOneName(t *testing.T, users models.Users, n int) {
	t.Helper()
	found := map[string]int{}
	for user, err := range Exported(ctx, users, models.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found[user.Name]++
	}
	if len(found) != 1 {
		t.Errorf("the users of each name in a snapshot: %v", found)
	}
	for name, users := range found {
		if users != n {
			t.Errorf("%d users have the name %s", users, name)
		}
	}
}

// importSome imports random rows with random options, and compares with what the model says of them.
func (m *Machine) importSome(r *rapid.T) {
	row := rapid.Custom(func(r *rapid.T) models.Values {
		values := m.someAdded(r)
		values.Set(m.fields.Find("name"), m.text(r, "name"))
		values.Set(m.fields.Find("email"), emails(r))
		return values
	})
	rows := rapid.SliceOfN(row, 0, 20).Draw(r, "rows")
	options := models.ImportOptions{
		DryRun: rapid.Bool().Draw(r, "dry run"),
		OnConflict: rapid.SampledFrom([]models.Conflict{models.ConflictFails, models.ConflictSkips,
			models.ConflictUpdates}).Draw(r, "on conflict"),
		MaxDeletes: rapid.IntRange(0, 40).Draw(r, "max deletes"),
	}
	options.DeleteMissing = options.OnConflict == models.ConflictUpdates && rapid.Bool().Draw(r, "delete missing")
	after, want, refused := m.imported(rows, options)
	done, err := m.Users.Import(ctx, RowsOf(rows...), options)
	if refusals(err) != refused || err == nil && !reflect.DeepEqual(done, want) {
		r.Fatalf("%+v: got %+v, %q, want %+v, %q", options, done, refusals(err), want, refused)
	}
	if err == nil && !options.DryRun {
		m.noteImported(r, after)
	}
}

// isNew reports whether a user of the model comes from the file: storage gives it its id and its time.
func isNew(user models.User) bool { return user.CreatedAt == "" }

// imported returns the users after an import, by what their emails have in common.
func (m *Machine) imported(rows []models.Values, options models.ImportOptions) (
	after map[string]models.User, done models.Imported, refused string) {
	after, inFile := map[string]models.User{}, map[string]bool{}
	for _, user := range m.model {
		after[m.traits.same(user.Email)] = user
	}
	var refusals []string
	for i, row := range rows {
		email := m.traits.same(row.User.Email)
		inFile[email] = true
		user, exists := after[email]
		changed := With(m.fields, user.NewUser, row)
		changed.Email = user.Email
		switch {
		case !exists:
			after[email] = models.User{NewUser: With(m.fields, models.NewUser{}, row)}
			done.Created++
		case options.OnConflict == models.ConflictFails && isNew(user):
			refusals = append(refusals, fmt.Sprint(i+2, " repeated"))
		case options.OnConflict == models.ConflictFails:
			refusals = append(refusals, fmt.Sprint(i+2, " duplicate"))
		case options.OnConflict == models.ConflictSkips || SameValues(changed, user.NewUser):
			done.Skipped++
		default:
			user.NewUser = changed
			after[email] = user
			done.Updated++
		}
	}
	if len(refusals) > 0 {
		return nil, done, strings.Join(refusals, ", ")
	}
	if options.DeleteMissing {
		refused = m.withoutMissing(after, inFile, options.MaxDeletes, &done)
	}
	return after, done, refused
}

// withoutMissing takes those out who are not in the file, unless they are too many.
func (m *Machine) withoutMissing(after map[string]models.User, inFile map[string]bool, most int, done *models.Imported) (refused string) {
	done.DeletedUsers = []models.DeletedUser{}
	for _, user := range m.model {
		if !inFile[m.traits.same(user.Email)] {
			done.DeletedUsers = append(done.DeletedUsers, models.DeletedUser{ID: user.ID, Email: user.Email})
		}
	}
	slices.SortFunc(done.DeletedUsers, func(a, b models.DeletedUser) int { return cmp.Compare(a.ID, b.ID) })
	done.DeletedUsers = done.DeletedUsers[:min(len(done.DeletedUsers), models.MostListed)]
	maps.DeleteFunc(after, func(email string, _ models.User) bool { return !inFile[email] })
	if done.Deleted = len(m.model) + done.Created - len(after); done.Deleted > most {
		return fmt.Sprintf("%d of %d deletes: %v", done.Deleted, most, done.DeletedUsers)
	}
	return ""
}

// noteImported notes the users with the ids and times that storage gave them.
func (m *Machine) noteImported(r *rapid.T, after map[string]models.User) {
	before := m.model
	m.model = map[int64]models.User{}
	for user, err := range models.Each(m.Users.Select(ctx, models.Query{})) {
		want, exists := after[m.traits.same(user.Email)]
		if isNew(want) {
			_, given := before[user.ID]
			exists = exists && !given
			want.ID, want.CreatedAt = user.ID, user.CreatedAt
		}
		if err != nil || !exists || !Same(user, want) {
			r.Fatalf("%.200v is stored, %v, want %.200v", user, err, want)
		}
		m.Note(user)
	}
	if len(m.model) != len(after) {
		r.Fatalf("%d users are stored, want %d", len(m.model), len(after))
	}
}
