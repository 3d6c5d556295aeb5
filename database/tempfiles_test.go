package database

import (
	"errors"
	"path/filepath"
	"testing"

	"users-api/models"
	"users-api/tests/program"
)

func TestATempFileThatCannotBeMadeSaysWhy(t *testing.T) {
	_, err := NewTempFiles(filepath.Join(t.TempDir(), "gone", "users.db-spool-")).New()
	if err == nil || err.Error() != "a temporary file cannot be written: no such file or directory" {
		t.Errorf("got %v", err)
	}
	files := NewTempFiles(filepath.Join(t.TempDir(), "users.db-spool-"))
	for range maxTempFiles {
		file, err := files.New()
		program.Must(t, err)
		defer file.Close()
	}
	if _, err := files.New(); !errors.Is(err, models.ErrNoRoom) {
		t.Errorf("one more than may be open: %v", err)
	}
}
