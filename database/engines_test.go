package database

import (
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

func TestSQLiteFoldsAsGoDoes(t *testing.T) {
	expectFolds(t, Location{Path: filepath.Join(t.TempDir(), "users.db")})
}

// expectFolds expects that the database folds every character as Go does.
func expectFolds(t *testing.T, at Location) {
	t.Helper()
	if testing.Short() { // one goroutine folds: the race detector finds nothing, and takes ten times as long
		return
	}
	at.Fields, at.Logger = models.NewFields()[:2], slog.New(slog.DiscardHandler)
	u, err := at.Open(t.Context(), 0)
	program.Must(t, err)
	defer u.Close(t.Context()) //nolint:errcheck // nothing is under way
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
