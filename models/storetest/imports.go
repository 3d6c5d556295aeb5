package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"users-api/models"
)

// file returns users from texts such as "Ada:ada@example.org".
func file(texts ...string) (users []models.NewUser) {
	for _, text := range texts {
		name, email, _ := strings.Cut(text, ":")
		users = append(users, models.NewUser{Name: name, Email: email})
	}
	return users
}

// stored returns all users as texts such as "1 Ada:ada@example.org".
func stored(t testing.TB, users models.Users) (texts []string) {
	t.Helper()
	for user, err := range models.Each(users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%d %s:%s", user.ID, user.Name, user.Email))
	}
	return texts
}

const (
	skips, updates   = models.ConflictSkips, models.ConflictUpdates
	ada, alan, grace = "1 Ada:ada", "2 Alan:alan", "3 Grace:grace"
)

// importCases are imports into a table in which Ada has the id 1, Alan 2 and Grace 3.
var importCases = []importCase{
	{"new users are created in the order of the file", []string{"New:b", "New:a"}, models.ImportOptions{},
		models.Imported{Created: 2}, "", []string{ada, alan, grace, "4 New:b", "5 New:a"}},
	{"an empty file changes nothing", nil, models.ImportOptions{},
		models.Imported{}, "", []string{ada, alan, grace}},
	{"an email that exists refuses the file", []string{"New:b", "Ada:ada", "New:c"}, models.ImportOptions{},
		models.Imported{}, "3 duplicate", []string{ada, alan, grace}},
	{"an email that comes again refuses the file", []string{"New:b", "New:c", "Other:b"}, models.ImportOptions{},
		models.Imported{}, "4 repeated", []string{ada, alan, grace}},
	{"every row that is refused is told", []string{"A:alan", "New:b", "B:b", "C:grace"}, models.ImportOptions{},
		models.Imported{}, "2 duplicate, 4 repeated, 5 duplicate", []string{ada, alan, grace}},
	{"skip leaves those who are there", []string{"X:ada", "New:b", "Y:b"}, models.ImportOptions{OnConflict: skips},
		models.Imported{Created: 1, Skipped: 2}, "", []string{ada, alan, grace, "4 New:b"}},
	{"update gives them the values of the file", []string{"X:ada", "Alan:alan", "New:b", "Y:b"},
		models.ImportOptions{OnConflict: updates},
		models.Imported{Created: 1, Updated: 2, Skipped: 1}, "", []string{"1 X:ada", alan, grace, "4 Y:b"}},
	{"the table becomes the file", []string{"New:b", "X:grace", "Ada:ada"},
		models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1},
		models.Imported{Created: 1, Updated: 1, Skipped: 1, Deleted: 1, DeletedUsers: []models.DeletedUser{{ID: 2, Email: "alan"}}}, "", []string{ada, "3 X:grace", "4 New:b"}},
	{"no more are deleted than may be", []string{"New:b", "Ada:ada"},
		models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1},
		models.Imported{}, "2 of 1 deletes: [{2 alan} {3 grace}]", []string{ada, alan, grace}},
	{"a table that has no others stays as it is", []string{"Ada:ada", "Alan:alan", "Grace:grace"},
		models.ImportOptions{OnConflict: updates, DeleteMissing: true},
		models.Imported{Skipped: 3, DeletedUsers: []models.DeletedUser{}}, "", []string{ada, alan, grace}},
	{"everybody may be deleted", nil,
		models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 3},
		models.Imported{Deleted: 3, DeletedUsers: []models.DeletedUser{{ID: 1, Email: "ada"}, {ID: 2, Email: "alan"},
			{ID: 3, Email: "grace"}}}, "", nil},
}

type importCase struct {
	name    string
	file    []string
	options models.ImportOptions
	done    models.Imported
	refused string // line: why
	want    []string
}

func imports(t *testing.T, open Open, traits Traits) {
	for _, test := range importCases {
		for _, dryRun := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dry run %t", test.name, dryRun), func(t *testing.T) {
				test.run(t, open(t, Fields()), dryRun, traits)
			})
		}
	}
}

func (test importCase) run(t *testing.T, users models.Users, dryRun bool, traits Traits) {
	for _, user := range file("Ada:ada", "Alan:alan", "Grace:grace") {
		if _, err := users.Create(ctx, user); err != nil {
			t.Fatal(err)
		}
	}
	want, options := test.want, test.options
	if options.DryRun = dryRun; dryRun {
		want = []string{ada, alan, grace}
	}
	before, _ := Text(t, users)
	done, err := users.Import(ctx, Rows(file(test.file...)...), options)
	if !reflect.DeepEqual(done, test.done) || refusals(err) != test.refused {
		t.Errorf("got %+v, %q, want %+v, %q", done, refusals(err), test.done, test.refused)
	}
	if got := stored(t, users); !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
	if after, _ := Text(t, users); (dryRun || test.refused != "") && after != before {
		t.Errorf("the list was %s and is %s", before, after)
	}
	if id := Create(t, users, "next"); dryRun && !traits.Gaps && id != 4 {
		t.Errorf("after a dry run the next user has the id %d", id)
	}
}

// refusals writes why an import was refused.
func refusals(err error) string {
	if many, ok := errors.AsType[*models.TooManyDeletes](err); ok {
		return fmt.Sprintf("%d of %d deletes: %v", many.Missing, many.Max, many.Users)
	}
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok {
		return strings.ReplaceAll(fmt.Sprint(err), "<nil>", "")
	}
	var texts []string
	for _, row := range refused.Listed {
		failure, _ := errors.AsType[*models.StorageError](row.Err)
		switch {
		case errors.Is(row.Err, models.ErrRepeated):
			texts = append(texts, fmt.Sprint(row.Line, " repeated"))
		case failure != nil && failure.Duplicate:
			texts = append(texts, fmt.Sprint(row.Line, " duplicate"))
		default:
			texts = append(texts, fmt.Sprint(row.Line, " ", row.Err))
		}
	}
	return strings.Join(texts, ", ")
}

// What the format refuses and what the table refuses is one list, in the order of the file, of the first 100.
func importsRefused(t *testing.T, users models.Users) {
	Create(t, users, "ada")
	unreadable := errors.New("cannot be read")
	rows := func(yield func(models.ImportRow, error) bool) {
		for line := 1; line <= 300; line++ {
			row := Row(line, models.NewUser{Name: "n", Email: fmt.Sprint(line)})
			var err error
			switch line % 3 {
			case 1:
				err = &models.RowError{Line: line, Err: unreadable}
			case 2:
				row.User.Email = "ada"
			}
			if !yield(row, err) {
				return
			}
		}
	}
	_, err := users.Import(ctx, rows, models.ImportOptions{})
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || refused.Refused != 200 || refused.All != 300 || len(refused.Listed) != 100 {
		t.Fatalf("got %v", err)
	}
	for i, row := range refused.Listed {
		if line := i/2*3 + i%2 + 1; row.Line != line || errors.Is(row.Err, unreadable) != (i%2 == 0) {
			t.Errorf("refusal %d is %v, want line %d", i, row, line)
		}
	}
	if n, err := users.Count(ctx, models.Query{}); n != 1 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// A file that ends too early, whose client goes away, or whose rows are no longer asked for, stores nothing.
func importsCutOff(t *testing.T, users models.Users) {
	broken := errors.New("the connection broke")
	rows := func(yield func(models.ImportRow, error) bool) {
		for i := range 10_000 {
			if !yield(Row(i, models.NewUser{Name: "n", Email: fmt.Sprint(i)}), nil) {
				return
			}
		}
		yield(models.ImportRow{}, broken)
	}
	if _, err := users.Import(ctx, rows, models.ImportOptions{}); !errors.Is(err, broken) {
		t.Errorf("a file that breaks off: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	rows = func(yield func(models.ImportRow, error) bool) {
		yield(Row(1, models.NewUser{Name: "n", Email: "e"}), nil)
		cancel()
	}
	if _, err := users.Import(gone, rows, models.ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that goes away: %v", err)
	}
	if n, err := users.Count(ctx, models.Query{}); n != 0 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
	Create(t, users, "after")
}

// ManyRows are rows with emails that begin with a text. They call last behind the last of them.
func ManyRows(n int, prefix string, last func()) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for i := range n {
			user := models.NewUser{Name: "n", Email: fmt.Sprintf("%s%x", prefix, int64(i)*2_654_435_761%1_000_000_007)}
			if !yield(Row(i+2, user), nil) {
				return
			}
		}
		last()
	}
}

// Interruption ends an import in the middle.
type Interruption struct {
	Name string
	ctx  context.Context // of the import
	end  func(models.Users)
	want error // what the import returns
}

// Interruptions are what an import must survive: nothing of it is stored.
func Interruptions(t *testing.T) []Interruption {
	gone, leave := context.WithCancel(ctx)
	t.Cleanup(leave)
	return []Interruption{
		{"the client goes away", gone, func(models.Users) { leave() }, context.Canceled},
		{"the service is forced to stop", ctx, func(users models.Users) {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = users.Close(over)
		}, models.ErrClosed},
	}
}

// Interrupt begins an import of many users, and ends it when awaitTurn has returned.
func (i Interruption) Interrupt(t *testing.T, users models.Users, awaitTurn func()) {
	t.Helper()
	var wait sync.WaitGroup
	rows := ManyRows(300_000, "file", func() {
		wait.Go(func() { awaitTurn(); i.end(users) })
	})
	if _, err := users.Import(i.ctx, rows, models.ImportOptions{}); !errors.Is(err, i.want) {
		t.Errorf("the import: %v", err)
	}
	wait.Wait()
}
