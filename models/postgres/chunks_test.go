package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"users-api/models"
)

// Rows are gathered up to a number of them, and up to a number of bytes: what is in memory is bounded.
func TestRowsAreGatheredUpToANumberOfRowsAndOfBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("n", chunkBytes/4)
	for name, test := range map[string]struct {
		rows int
		name string
		want string
	}{
		"none":       {0, "n", "[0]"},
		"small ones": {2*chunkRows + 1, "n", fmt.Sprint([]int{chunkRows, chunkRows, 1})},
		"large ones": {9, large, "[4 4 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sizes []int
			rows := func(yield func(models.ImportRow, error) bool) {
				for range test.rows {
					if !yield(models.ImportRow{User: models.NewUser{Name: test.name}}, nil) {
						return
					}
				}
			}
			for chunk, err := range inChunks(rows) {
				if err != nil {
					t.Error(err)
				}
				sizes = append(sizes, len(chunk))
			}
			if got := fmt.Sprint(sizes); got != test.want {
				t.Errorf("the chunks have %s rows, want %s", got, test.want)
			}
		})
	}
}

// A spool that cannot be read on ends the import: what was gathered before is not taken for all.
func TestAnErrorIsTheLastThatComesOfTheRows(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	rows := func(yield func(models.ImportRow, error) bool) {
		_ = yield(models.ImportRow{}, nil) && yield(models.ImportRow{}, broken)
	}
	var got []error
	for _, err := range inChunks(rows) {
		got = append(got, err)
	}
	if len(got) != 1 || got[0] != broken { //nolint:errorlint // it is not wrapped
		t.Errorf("what came is %v", got)
	}
}
