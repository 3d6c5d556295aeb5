package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"users-api/models/sqlite/dbfile"
)

// What cannot be done to a file is an error with its own reason, such as a full disk.
func TestWhatCannotBeDoneToAFileSaysWhy(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	gone := filepath.Join(directory, "gone", "users.db")
	for name, err := range map[string]error{
		"bringing it to disk": dbfile.SyncFile(gone), "bringing its name to disk": dbfile.SyncName(gone),
		"giving it another name": place(gone, filepath.Join(directory, "users.db")),
	} {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := dbfile.SyncFile(os.DevNull); err == nil {
		t.Error("what cannot be brought to disk is no error")
	}
}
