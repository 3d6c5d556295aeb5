package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// Rows are the rows of a file whose header is its first line.
func Rows(users ...models.NewUser) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for i, user := range users {
			if !yield(models.ImportRow{Line: i + 2, User: user}, nil) {
				return
			}
		}
	}
}

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
	for user, err := range users.Select(ctx, models.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%d %s:%s", user.ID, user.Name, user.Email))
	}
	return texts
}

// Each import goes into a table in which Ada has the id 1, Alan 2 and Grace 3.
func imports(t *testing.T, open Open) {
	const skips, updates = models.ConflictSkips, models.ConflictUpdates
	ada, alan, grace := "1 Ada:ada", "2 Alan:alan", "3 Grace:grace"
	for _, test := range []struct {
		name    string
		file    []string
		options models.ImportOptions
		done    models.Imported
		refused string // line: why
		want    []string
	}{
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
		{"update gives them the name", []string{"X:ada", "Alan:alan", "New:b", "Y:b"},
			models.ImportOptions{OnConflict: updates},
			models.Imported{Created: 1, Updated: 2, Skipped: 1}, "", []string{"1 X:ada", alan, grace, "4 Y:b"}},
		{"the table becomes the file", []string{"New:b", "X:grace", "Ada:ada"},
			models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1},
			models.Imported{Created: 1, Updated: 1, Skipped: 1, Deleted: 1}, "", []string{ada, "3 X:grace", "4 New:b"}},
		{"no more are deleted than may be", []string{"New:b", "Ada:ada"},
			models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 1},
			models.Imported{}, "2 of 1 deletes", []string{ada, alan, grace}},
		{"everybody may be deleted", nil,
			models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: 3},
			models.Imported{Deleted: 3}, "", nil},
	} {
		for _, dryRun := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, dry run %t", test.name, dryRun), func(t *testing.T) {
				users := open(t)
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
				if done != test.done || refusals(err) != test.refused {
					t.Errorf("got %+v, %q, want %+v, %q", done, refusals(err), test.done, test.refused)
				}
				if got := stored(t, users); !slices.Equal(got, want) {
					t.Errorf("stored are %q, want %q", got, want)
				}
				if after, _ := Text(t, users); (dryRun || test.refused != "") && after != before {
					t.Errorf("the list was %s and is %s", before, after)
				}
				if id := Create(t, users, "next"); dryRun && id != 4 {
					t.Errorf("after a dry run the next user has the id %d", id)
				}
			})
		}
	}
}

// refusals writes why an import was refused.
func refusals(err error) string {
	if many, ok := errors.AsType[*models.TooManyDeletes](err); ok {
		return fmt.Sprintf("%d of %d deletes", many.Missing, many.Max)
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
			row := models.ImportRow{Line: line, User: models.NewUser{Name: "n", Email: fmt.Sprint(line)}}
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

// A file that ends too early, whose client goes away, or whose rows are asked for by nobody any more, stores nothing.
func importsCutOff(t *testing.T, users models.Users) {
	broken := errors.New("the connection broke")
	rows := func(yield func(models.ImportRow, error) bool) {
		for i := range 10_000 {
			if !yield(models.ImportRow{Line: i, User: models.NewUser{Name: "n", Email: fmt.Sprint(i)}}, nil) {
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
		yield(models.ImportRow{Line: 1, User: models.NewUser{Name: "n", Email: "e"}}, nil)
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

// A snapshot is of one moment: while all users get another name again and again, each in one commit, all of a snapshot
// have one name.
func snapshots(t *testing.T, users models.Users) {
	const n, names = 3000, 4
	rename := func(name string) {
		rows := make([]models.NewUser, n)
		for i := range rows {
			rows[i] = models.NewUser{Name: name, Email: fmt.Sprint(i)}
		}
		_, err := users.Import(ctx, Rows(rows...), models.ImportOptions{OnConflict: models.ConflictUpdates})
		if err != nil {
			t.Error(err)
		}
	}
	rename("0")
	renamed := make(chan struct{})
	go func() {
		defer close(renamed)
		for i := range names {
			rename(fmt.Sprint(i + 1))
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
	for range users.Select(ctx, models.Query{Snapshot: true}) {
		break // and nothing is left behind
	}
	query := models.Query{Snapshot: true, Contains: "299", Limit: 3, Descending: true}
	if got := ids(t, users, query); !slices.Equal(got, []int64{3000, 2999, 2998}) {
		t.Errorf("a query gave %v", got)
	}
}

func expectOneName(t *testing.T, users models.Users, n int) {
	t.Helper()
	found := map[string]int{}
	for user, err := range users.Select(ctx, models.Query{Snapshot: true}) {
		if err != nil {
			t.Fatal(err)
		}
		found[user.Name]++
	}
	if len(found) != 1 {
		t.Errorf("a snapshot has so many users of each name: %v", found)
	}
	for name, users := range found {
		if users != n {
			t.Errorf("%d users have the name %s", users, name)
		}
	}
}

// importSome imports random rows with random options, and compares with what the model says of them.
func (m *Machine) importSome(r *rapid.T) {
	row := rapid.Custom(func(r *rapid.T) models.NewUser {
		return models.NewUser{Name: Names(r, "name"),
			Email: emails(r)}
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
	done, err := m.Users.Import(ctx, Rows(rows...), options)
	if refusals(err) != refused || err == nil && done != want {
		r.Fatalf("%+v: got %+v, %q, want %+v, %q", options, done, refusals(err), want, refused)
	}
	if err == nil && !options.DryRun {
		m.noteImported(r, after)
	}
}

// isNew reports whether a user of the model comes from the file: storage gives it its id and its time.
func isNew(user models.User) bool { return user.CreatedAt == "" }

// imported returns the users by their emails after an import.
func (m *Machine) imported(rows []models.NewUser, options models.ImportOptions) (after map[string]models.User, done models.Imported, refused string) {
	after, inFile := map[string]models.User{}, map[string]bool{}
	for _, user := range m.model {
		after[user.Email] = user
	}
	var refusals []string
	for i, row := range rows {
		inFile[row.Email] = true
		user, exists := after[row.Email]
		switch {
		case !exists:
			after[row.Email] = models.User{NewUser: row}
			done.Created++
		case options.OnConflict == models.ConflictFails && isNew(user):
			refusals = append(refusals, fmt.Sprint(i+2, " repeated"))
		case options.OnConflict == models.ConflictFails:
			refusals = append(refusals, fmt.Sprint(i+2, " duplicate"))
		case options.OnConflict == models.ConflictSkips || user.Name == row.Name:
			done.Skipped++
		default:
			user.Name = row.Name
			after[row.Email] = user
			done.Updated++
		}
	}
	if len(refusals) > 0 {
		return nil, done, strings.Join(refusals, ", ")
	}
	if options.DeleteMissing {
		maps.DeleteFunc(after, func(email string, _ models.User) bool { return !inFile[email] })
		if done.Deleted = len(m.model) + done.Created - len(after); done.Deleted > options.MaxDeletes {
			return nil, done, fmt.Sprintf("%d of %d deletes", done.Deleted, options.MaxDeletes)
		}
	}
	return after, done, ""
}

// noteImported notes the users with the ids and times that storage gave them.
func (m *Machine) noteImported(r *rapid.T, after map[string]models.User) {
	before := m.model
	m.model = map[int64]models.User{}
	for user, err := range m.Users.Select(ctx, models.Query{}) {
		want, exists := after[user.Email]
		if isNew(want) {
			_, given := before[user.ID]
			exists = exists && !given
			want.ID, want.CreatedAt = user.ID, user.CreatedAt
		}
		if err != nil || !exists || user != want {
			r.Fatalf("%.200v is stored, %v, want %.200v", user, err, want)
		}
		m.Note(user)
	}
	if len(m.model) != len(after) {
		r.Fatalf("%d users are stored, want %d", len(m.model), len(after))
	}
}
