package imports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// named returns users with a name and the emails 0 to n - 1.
func named(name string, n int) iter.Seq[models.NewUser] {
	return func(yield func(models.NewUser) bool) {
		for i := range n {
			if !yield(models.NewUser{Name: name, Email: fmt.Sprint(i)}) {
				return
			}
		}
	}
}

var (
	updates = models.ImportOptions{OnConflict: models.ConflictUpdates}
	unique  = Emails{FindsUser: true}
	ten     = Limits{Rows: 10, Bytes: 1000}
)

// What is in memory at once is bounded.
func TestRowsAreStoredTogetherUpToANumberOfRowsAndOfBytes(t *testing.T) {
	for name, test := range map[string]struct {
		rows int
		name string
		want []int
	}{
		"no rows":    {0, "n", nil},
		"small rows": {21, "n", []int{10, 10, 1}},
		"large rows": {9, strings.Repeat("n", 250), []int{4, 4, 1}},
	} {
		table := with()
		done, err := receive(t, named(test.name, test.rows), models.ImportOptions{}, ten).Run(ctx, table, unique)
		if !slices.Equal(table.inserts, test.want) || done.Created != test.rows || err != nil {
			t.Errorf("%s: the creations have %d rows, %+v, %v", name, table.inserts, done, err)
		}
	}
}

// refused returns the lines of the rows that an error refuses, and why.
func refused(err error) (texts []string) {
	rows, ok := errors.AsType[*models.RefusedRows](err)
	if !ok {
		return []string{fmt.Sprint(err)}
	}
	for _, row := range rows.Listed {
		texts = append(texts, row.Error())
	}
	return texts
}

func TestARefusedStatementIsTriedWithFewerRowsUntilTheRowToBlameIsFound(t *testing.T) {
	rule := func(refusal error) func(models.NewUser) error {
		return func(user models.NewUser) error {
			if user.Email == "37" || user.Email == "805" {
				return refusal
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		refusal error
		want    []string
		stored  int
	}{
		"a row":                                {errRule, []string{"line 39: a rule", "line 807: a rule"}, 998},
		"a row that has ended the transaction": {errLast, []string{"line 39: " + errLast.Text}, 37},
		"the server":                           {errServer, []string{errServer.Error()}, 0},
	} {
		for _, options := range []models.ImportOptions{{}, updates} {
			table := with()
			table.refuses = rule(test.refusal)
			_, err := receive(t, named("n", 1000), options, Limits{Rows: 1000, Bytes: 1 << 20}).Run(ctx, table, unique)
			if got := refused(err); !slices.Equal(got, test.want) || len(table.users) != test.stored {
				t.Errorf("%s: %q, and %d users are stored", name, got, len(table.users))
			}
			if len(table.inserts) > 100 {
				t.Errorf("%s: there were %d statements", name, len(table.inserts))
			}
		}
	}
}

// An id that a refused creation spends is a gap that users see.
func TestUsersAreLookedUpFirstWhereARefusedCreationSpendsAnID(t *testing.T) {
	for name, test := range map[string]struct {
		spends bool
		lastID int64
	}{"it spends one": {true, 20}, "it spends none": {false, 21}} {
		table := with(slices.Collect(named("before", 10))...)
		limits := Limits{Rows: 10, Bytes: 1000, SpendsIDs: test.spends}
		done, err := receive(t, named("after", 20), updates, limits).Run(ctx, table, unique)
		if want := (models.Imported{Created: 10, Updated: 10}); !reflect.DeepEqual(done, want) || err != nil || table.lastID != test.lastID {
			t.Errorf("%s: %+v, %v, and the last id is %d", name, done, err, table.lastID)
		}
	}
}

// As long as no email exists, no user is looked up.
func TestNewUsersAreCreatedWithoutALookup(t *testing.T) {
	table := with()
	done, err := receive(t, named("n", 100), updates, ten).Run(ctx, table, unique)
	if done.Created != 100 || table.lookups > 0 || err != nil {
		t.Errorf("%+v, %v, after %d lookups", done, err, table.lookups)
	}
}

// Another transaction may delete the user of a row after the lookup, or create it.
func TestARowIsTriedAgainAfterAnotherTransactionHasChangedItsUser(t *testing.T) {
	for name, test := range map[string]struct {
		before []models.NewUser
		change func(*table)
		want   models.Imported
	}{
		"its user is deleted": {[]models.NewUser{{Name: "before", Email: "0"}},
			func(t *table) { t.users = nil }, models.Imported{Created: 1}},
		"its user is created": {nil,
			func(t *table) { t.users = with(models.NewUser{Name: "other", Email: "0"}).users }, models.Imported{Updated: 1}},
	} {
		table := with(test.before...)
		table.lastID = 7
		asked := 0
		table.refuses = func(models.NewUser) error {
			if asked++; asked == 1 { // the first write fails, and is taken back with what it had found
				table.begun = func() { test.change(table) }
				return errRule
			}
			return nil
		}
		limits := Limits{Rows: 1, SpendsIDs: true}
		done, err := receive(t, named("after", 1), updates, limits).Run(ctx, table, unique)
		if !reflect.DeepEqual(done, test.want) || err != nil {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// What the column takes for the same email is not changed, and is no reason for a change.
func TestAnEmailKeepsItsLetterCase(t *testing.T) {
	for name, want := range map[string]models.Imported{"before": {Skipped: 1}, "after": {Updated: 1}} {
		table := with(models.NewUser{Name: "before", Email: "A"})
		row := models.NewUser{Name: name, Email: "a"}
		done, err := receive(t, slices.Values([]models.NewUser{row}), updates, ten).Run(ctx, table, unique)
		if user := table.users[0]; !reflect.DeepEqual(done, want) || err != nil || user.Name != name || user.Email != "A" {
			t.Errorf("%+v, %v: the user is %+v", done, err, user)
		}
	}
}

func TestAnImportMayRunAgain(t *testing.T) {
	options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 1}
	i := receive(t, named("after", 20), options, ten)
	broken := with(models.NewUser{Name: "before", Email: "5"})
	broken.refuses = func(user models.NewUser) error {
		switch user.Email {
		case "4":
			return errRule
		case "15":
			return errServer
		}
		return nil
	}
	if _, err := i.Run(ctx, broken, unique); !errors.Is(err, errServer) {
		t.Fatal(err)
	}
	whole := with(models.NewUser{Name: "before", Email: "5"}, models.NewUser{Name: "before", Email: "missing"})
	done, err := i.Run(ctx, whole, unique)
	if want := (models.Imported{Created: 19, Updated: 1, Deleted: 1,
		DeletedUsers: []models.DeletedUser{{ID: 2, Email: "missing"}}}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("%+v, %v", done, err)
	}
}

// The users are looked through in pages. One that is on no page would stay, or be counted twice.
func TestEveryMissingUserIsFound(t *testing.T) {
	for name, ids := range map[string][]int64{
		"in three pages": {1, 2*missingPage + 1},
		"in a page that ends with the highest id": {math.MaxInt64 - missingPage + 1, missingPage},
		"of any id": {math.MinInt64, 3},
	} {
		table := with()
		for n := range ids[1] {
			table.users = append(table.users, models.User{ID: ids[0] + n})
		}
		before, n := slices.Clone(table.users), int(ids[1])
		options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: 1}
		_, err := receive(t, named("", 0), options, ten).Run(ctx, table, unique)
		if many, ok := errors.AsType[*models.TooManyDeletes](err); !ok || many.Missing != n {
			t.Errorf("%s: %v", name, err)
		}
		table.users, options.MaxDeletes = before, n
		if done, err := receive(t, named("", 0), options, ten).Run(ctx, table, unique); done.Deleted != n || err != nil {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

func TestTheEndOfTheContextEndsAnImport(t *testing.T) {
	ended, end := context.WithCancelCause(ctx)
	table := with()
	table.begun = func() { end(models.ErrClosed) }
	_, err := receive(t, named("n", 100), models.ImportOptions{}, ten).Run(ended, table, unique)
	if !errors.Is(err, models.ErrClosed) || len(table.users) != 10 {
		t.Errorf("%d users are stored, %v", len(table.users), err)
	}
}
