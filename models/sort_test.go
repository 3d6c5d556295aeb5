package models

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An index is used only if it is on exactly what users are sorted by.
func TestTheIndexInTheDocumentsIsOnWhatUsersAreSortedBy(t *testing.T) {
	expectDocumented(t, Database{Path: filepath.Join(t.TempDir(), "users.db")})
}

func expectDocumented(t *testing.T, at Database) {
	t.Helper()
	at.Fields, at.Logger = NewFields(), slog.New(slog.DiscardHandler)
	u, err := at.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Close(t.Context()) })
	documents, err := os.ReadFile("../docs/operating.md")
	if want := "users_by_name ON users (" + fmt.Sprintf(u.limits.sortKey, "name") + ", id);"; err != nil ||
		!strings.Contains(string(documents), want) {
		t.Errorf("docs/operating.md does not have %s: %v", want, err)
	}
}
