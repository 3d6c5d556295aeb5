package models_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"users-api/models"
)

func TestFiles(t *testing.T) {
	onEach(t, []test{
		{"every row that cannot be imported is named, whatever refuses it", importsRefused},
		{"rows of many users with the same emails are stored in their order", repeatedRows},
	}, plain())
}

const skips, updates = models.ConflictSkips, models.ConflictUpdates

// becomes returns the options with which the table becomes the file, if at most some users are deleted.
func becomes(most int) models.ImportOptions {
	return models.ImportOptions{OnConflict: updates, DeleteMissing: true, MaxDeletes: most}
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
	_, err := s.Import(ctx, rows, models.ImportOptions{})
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok || refused.Refused != 200 || refused.All != 300 || len(refused.Listed) != models.MaxListed {
		t.Fatalf("got %v", err)
	}
	for i, row := range refused.Listed {
		if line := i/2*3 + i%2 + 1; row.Line != line || errors.Is(row.Err, unreadable) != (i%2 == 0) {
			t.Errorf("refusal %d is %v, want line %d", i, row, line)
		}
	}
}

// repeatedRows imports more rows than are stored together, many with the email of an earlier row, and then deletes more users
// than are looked at together.
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
	done, err = s.Import(ctx, lines(file("kept:0")), becomes(users))
	if left := s.stored(t); done.Deleted != users-1 || len(done.DeletedUsers) != models.MaxListed || len(left) != 1 || err != nil {
		t.Errorf("%d are deleted, and %d of them named, %v: left are %v", done.Deleted, len(done.DeletedUsers), err, left)
	}
}
