package database

import (
	"errors"
	"path/filepath"
	"testing"

	"users-api/models"
)

// All files together leave as much free as they take. What one gives back, another may have.
func TestTempFilesTakeNoMoreThanTheyLeave(t *testing.T) {
	files := NewTempFiles(filepath.Join(t.TempDir(), "users.db-spool-"))
	const part, disk = 1000, 8 * 1000
	files.free = func(string) (int64, error) { return disk - files.used.Load() + part, nil } // Write has counted its own
	first, _ := files.New()
	second, err := files.New()
	for i, test := range []struct {
		file *TempFile
		want error
	}{{second, nil}, {first, nil}, {first, nil}, {first, nil}, {first, models.ErrNoRoom}, {nil, nil}, {second, nil}, {second, nil}} {
		if test.file == nil { // of the five parts, one stays: what was refused is given back, too
			first.Close()
			continue
		}
		if _, err := test.file.Write(make([]byte, part)); !errors.Is(err, test.want) {
			t.Errorf("write %d ends with %v, want %v", i, err, test.want)
		}
	}
	second.Close()
	if used, open := files.used.Load(), files.open.Load(); used != 0 || open != 0 || err != nil {
		t.Errorf("nothing is open, and %d bytes of %d files are used, %v", used, open, err)
	}
}

func TestATempFileThatCannotBeMadeSaysWhy(t *testing.T) {
	_, err := NewTempFiles(filepath.Join(t.TempDir(), "gone", "users.db-spool-")).New()
	if err == nil || err.Error() != "a temporary file cannot be written: no such file or directory" {
		t.Errorf("got %v", err)
	}
	files := NewTempFiles(filepath.Join(t.TempDir(), "users.db-spool-"))
	for range maxTempFiles {
		file, err := files.New()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	if _, err := files.New(); !errors.Is(err, models.ErrNoRoom) {
		t.Errorf("one more than may be open: %v", err)
	}
}
