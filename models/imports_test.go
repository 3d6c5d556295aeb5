package models_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

func TestImports(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		for _, test := range importCases {
			for _, dryRun := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s: %s, dry run %t", d.name, test.name, dryRun), func(t *testing.T) {
					t.Parallel()
					test.run(t, d.open(t, plain()), dryRun)
				})
			}
		}
	}
}

func TestFiles(t *testing.T) {
	onEach(t, []test{
		{"every row that cannot be imported is named, whatever refuses it", importsRefused},
		{"a file that breaks off stores nothing", importsCutOff},
		{"an import names the first of the users that it deletes", deletedUsers},
		{"rows of many users with the same emails are stored in their order", repeatedRows},
	}, plain())
}

const (
	skips, updates   = models.ConflictSkips, models.ConflictUpdates
	ada, alan, grace = "1 Ada:ada", "2 Alan:alan", "3 Grace:grace"
)

// importCase is an import into a table in which Ada has the id 1, Alan 2 and Grace 3.
type importCase struct {
	name    string
	file    []string
	options models.ImportOptions
	done    models.Imported
	refused string // line: why
	want    []string
}

// becomes returns the options with which the table becomes the file, if at most some users are deleted.
func becomes(most int) models.ImportOptions {
	return models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: most}
}

var importCases = []importCase{
	{"new users are created in the order of the file", []string{"New:b", "New:a"}, models.ImportOptions{},
		models.Imported{Created: 2}, "", []string{ada, alan, grace, "4 New:b", "5 New:a"}},
	{"an empty file changes nothing", nil, models.ImportOptions{}, models.Imported{}, "", []string{ada, alan, grace}},
	{"an email that exists refuses the file", []string{"New:b", "Ada:ada", "New:c"}, models.ImportOptions{},
		models.Imported{}, "3 duplicate", []string{ada, alan, grace}},
	{"an email that comes again refuses the file", []string{"New:b", "New:c", "Other:b"}, models.ImportOptions{},
		models.Imported{}, "4 repeated", []string{ada, alan, grace}},
	{"every row that is refused is told", []string{"A:alan", "New:b", "B:b", "C:grace"}, models.ImportOptions{},
		models.Imported{}, "2 duplicate, 4 repeated, 5 duplicate", []string{ada, alan, grace}},
	{"skip leaves users that are there", []string{"X:ada", "New:b", "Y:b"}, models.ImportOptions{OnConflict: skips},
		models.Imported{Created: 1, Skipped: 2}, "", []string{ada, alan, grace, "4 New:b"}},
	{"update gives them the values of the file", []string{"X:ada", "Alan:alan", "New:b", "Y:b"}, models.ImportOptions{OnConflict: updates},
		models.Imported{Created: 1, Updated: 2, Skipped: 1}, "", []string{"1 X:ada", alan, grace, "4 Y:b"}},
	{"the table becomes the file", []string{"New:b", "X:grace", "Ada:ada"}, becomes(1), models.Imported{Created: 1, Updated: 1, Skipped: 1,
		Deleted: 1, DeletedUsers: []models.DeletedUser{{ID: 2, Email: "alan"}}}, "", []string{ada, "3 X:grace", "4 New:b"}},
	{"no more are deleted than may be", []string{"New:b", "Ada:ada"}, becomes(1),
		models.Imported{}, "2 of 1 deletes: [{2 alan} {3 grace}]", []string{ada, alan, grace}},
	{"a table that has no others stays as it is", []string{"Ada:ada", "Alan:alan", "Grace:grace"}, becomes(0),
		models.Imported{Skipped: 3, DeletedUsers: []models.DeletedUser{}}, "", []string{ada, alan, grace}},
	{"everybody may be deleted", nil, becomes(3), models.Imported{Deleted: 3,
		DeletedUsers: []models.DeletedUser{{ID: 1, Email: "ada"}, {ID: 2, Email: "alan"}, {ID: 3, Email: "grace"}}}, "", nil},
}

func (test importCase) run(t *testing.T, s *storage, dryRun bool) {
	for _, row := range file("Ada:ada", "Alan:alan", "Grace:grace") {
		if _, err := s.Create(ctx, row.User); err != nil {
			t.Fatal(err)
		}
	}
	want, options := test.want, test.options
	if options.DryRun = dryRun; dryRun {
		want = []string{ada, alan, grace}
	}
	before, _ := s.list(t)
	done, err := s.Import(ctx, lines(file(test.file...)), options)
	if !reflect.DeepEqual(done, test.done) || refusals(err) != test.refused {
		t.Errorf("got %+v, %q, want %+v, %q", done, refusals(err), test.done, test.refused)
	}
	got := s.stored(t)
	if s.gaps { // between the ids of new users
		for i := range got {
			if _, name, _ := strings.Cut(got[i], " "); i < len(want) && strings.HasSuffix(want[i], " "+name) && i > 2 {
				got[i] = want[i]
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
	if after, _ := s.list(t); (dryRun || test.refused != "") && after != before {
		t.Errorf("the list was %s and is %s", before, after)
	}
	if id := s.create(t, "next"); dryRun && !s.gaps && id != 4 {
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
		failure := refusal(row.Err)
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
func importsRefused(t *testing.T, s *storage) {
	s.create(t, "ada")
	unreadable := errors.New("cannot be read")
	rows := func(yield func(models.ImportRow, error) bool) {
		for line := 1; line <= 300; line++ {
			row := models.ImportRow{Line: line, Values: values(s.fields, "name", "n", "email", fmt.Sprint(line))}
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
	for _, options := range []models.ImportOptions{{}, {DryRun: true}} {
		_, err := s.Import(ctx, rows, options)
		refused, ok := errors.AsType[*models.RefusedRows](err)
		if !ok || refused.Refused != 200 || refused.All != 300 || len(refused.Listed) != models.MostListed {
			t.Fatalf("got %v", err)
		}
		for i, row := range refused.Listed {
			if line := i/2*3 + i%2 + 1; row.Line != line || errors.Is(row.Err, unreadable) != (i%2 == 0) {
				t.Errorf("refusal %d is %v, want line %d", i, row, line)
			}
		}
	}
	if stored := s.stored(t); len(stored) != 1 {
		t.Errorf("stored are %v", stored)
	}
}

// A file that ends too early, or whose client goes away, stores nothing, and the next write is done.
func importsCutOff(t *testing.T, s *storage) {
	broken := errors.New("the disk broke")
	gone, cancel := context.WithCancel(ctx)
	for name, test := range map[string]struct {
		ctx  context.Context
		last func() error
		want error
	}{
		"a file that breaks off":  {ctx, func() error { return broken }, broken},
		"a client that goes away": {gone, func() error { cancel(); return nil }, context.Canceled},
	} {
		rows := func(yield func(models.ImportRow, error) bool) {
			for i := range 5000 {
				row := models.ImportRow{Line: i, Values: values(s.fields, "name", "n", "email", fmt.Sprint(i))}
				var err error
				if i == 3000 {
					err = test.last()
				}
				if !yield(row, err) {
					return
				}
			}
		}
		if _, err := s.Import(test.ctx, rows, models.ImportOptions{}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.create(t, "after")
	if stored := s.stored(t); len(stored) != 1 {
		t.Errorf("%d users are stored", len(stored))
	}
}

// deletedUsers deletes more users than an import names: it names the first by id, also in a dry run and when it is refused.
func deletedUsers(t *testing.T, s *storage) {
	const n = models.MostListed + 50
	var rows []models.Values
	for i := range n { // the order of the ids is not that of the emails
		rows = append(rows, values(s.fields, "name", "n", "email", fmt.Sprint(n-i)))
	}
	if _, err := s.Import(ctx, lines(rows), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	var listed []models.DeletedUser
	for _, user := range s.selected(t, models.Query{Limit: models.MostListed}) {
		listed = append(listed, models.DeletedUser{ID: user.ID, Email: user.Email})
	}
	for _, test := range []struct {
		most   int
		dryRun bool
		left   int
	}{{n - 1, true, n}, {n - 1, false, n}, {n, true, n}, {n, false, 0}} {
		options := becomes(test.most)
		options.DryRun = test.dryRun
		done, err := s.Import(ctx, lines(nil), options)
		many, refused := errors.AsType[*models.TooManyDeletes](err)
		switch {
		case refused != (test.most < n), refused && (many.Missing != n || !slices.Equal(many.Users, listed)):
			t.Errorf("%+v: %v", test, err)
		case !refused && !reflect.DeepEqual(done, models.Imported{Deleted: n, DeletedUsers: listed}):
			t.Errorf("%+v: %+v", test, done)
		}
		if left := len(s.stored(t)); left != test.left {
			t.Errorf("%+v: %d users are left", test, left)
		}
	}
}

// repeatedRows imports more rows than are stored together, many with the email of an earlier row.
func repeatedRows(t *testing.T, s *storage) {
	const users, times = 700, 4
	var rows []models.Values
	for i := range users * times {
		rows = append(rows, values(s.fields, "name", fmt.Sprint(i), "email", fmt.Sprint(i*9%users)))
	}
	done, err := s.Import(ctx, lines(rows), models.ImportOptions{OnConflict: updates})
	if want := (models.Imported{Created: users, Updated: users * (times - 1)}); !reflect.DeepEqual(done, want) || err != nil {
		t.Errorf("got %+v, %v, want %+v", done, err, want)
	}
	for _, user := range s.selected(t, models.Query{}) {
		var last, email int
		_, _ = fmt.Sscan(user.Name+" "+user.Email, &last, &email)
		if last < users*(times-1) || last*9%users != email {
			t.Fatalf("%+v is stored", user)
		}
	}
}
