package database

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gorm.io/gorm"

	"users-api/models"
	"users-api/tests/program"
)

func TestInsideSQLite(t *testing.T) {
	expectEngine(t, Location{Path: filepath.Join(t.TempDir(), "users.db")})
}

// A transaction of GORM inside one of storage is a savepoint: it goes with the outer one, and may fail alone.
func expectEngine(t *testing.T, at Location) {
	t.Helper()
	at.Fields, at.Logger = models.NewFields()[:2], slog.New(slog.DiscardHandler)
	u, err := at.Open(t.Context(), 0)
	program.Must(t, err)
	defer u.Close(t.Context()) //nolint:errcheck // nothing is under way
	expectFolds(t, u)
	create := func(tx *gorm.DB, email string) error {
		return tx.Create(&models.User{Profile: models.Profile{Name: "n", Email: email}}).Error
	}
	broken := errors.New("broken")
	for _, test := range []struct {
		name         string
		outer, inner error
		stored       int64
	}{
		{"the outer one takes the other", broken, nil, 0},
		{"both are taken back by themselves", broken, broken, 0},
		{"the inner one is taken back", nil, broken, 1},
		{"both are committed", nil, nil, 2},
	} {
		err := u.pool.write(t.Context(), func(tx *gorm.DB) error {
			outer := errors.Join(tx.Exec("DELETE FROM users").Error, create(tx, "outer"))
			inner := tx.Transaction(func(tx *gorm.DB) error { return errors.Join(create(tx, "inner"), test.inner) })
			if outer != nil || !errors.Is(inner, test.inner) {
				t.Errorf("%s: %v, %v", test.name, outer, inner)
			}
			return test.outer
		})
		var stored int64
		failed := u.Query(t.Context(), models.Query{Count: true}, func(result Result) error {
			stored = result.Total
			return nil
		})
		if !errors.Is(err, test.outer) || failed != nil || stored != test.stored {
			t.Errorf("%s: %d users are stored, want %d, %v, %v", test.name, stored, test.stored, err, failed)
		}
	}
}

// expectFolds expects that the database folds every character as Go does.
func expectFolds(t *testing.T, u *Users) {
	t.Helper()
	if testing.Short() { // one goroutine folds: the race detector finds nothing, and takes ten times as long
		return
	}
	var texts []any
	for first := rune(1); first <= utf8.MaxRune; first += 16 {
		text := ""
		for char := first; char < first+16; char++ {
			if utf8.ValidRune(char) {
				text += string(char) + "aÉ"
			}
			if char > lastFolded && models.Fold(string(char)) != string(char) {
				t.Errorf("the index of searches does not fold %U", char)
			}
		}
		texts = append(texts, text)
	}
	for some := range slices.Chunk(texts, 200) {
		var got []string
		query := "WITH texts(text) AS (VALUES (CAST(? AS TEXT))" + strings.Repeat(", (?)", len(some)-1) + ") SELECT "
		err := u.pool.read(t.Context(), func(db *gorm.DB) error {
			return db.Raw(query+u.dialect.fold("text")+" FROM texts", some...).Scan(&got).Error
		})
		for i, text := range some {
			if want := models.Fold(text.(string)); err != nil || got[i] != want {
				t.Fatalf("%+q is folded to %+q, want %+q, %v", text, got[i], want, err)
			}
		}
	}
}
