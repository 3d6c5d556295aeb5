package models

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// All files together leave as much free as they take. What one gives back, another may have.
func TestTempFilesTakeNoMoreThanTheyLeave(t *testing.T) {
	files := NewTempFiles(filepath.Join(t.TempDir(), "users.db-spool-"))
	const part, disk = 1000, 8 * 1000
	files.free = func(string) (int64, error) { return disk - files.used.Load() + part, nil } // Write has counted its own
	open := func() *TempFile {
		file, err := files.New()
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	write := func(file *TempFile) error {
		_, err := file.Write([]byte(strings.Repeat("n", part)))
		return err
	}
	fill := func(file *TempFile) (written int) {
		for ; ; written++ {
			if err := write(file); errors.Is(err, ErrNoRoom) {
				files.used.Add(-part) // as if it was not tried
				file.size -= part
				return written
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	first, second := open(), open()
	if err := write(second); err != nil {
		t.Fatal(err)
	}
	if more := fill(first); more != 3 {
		t.Errorf("beside one part a file has taken %d of the 8 that the disk has", more)
	}
	if more := fill(second); more != 0 {
		t.Errorf("beside four it has taken %d more", more)
	}
	first.Close()
	if more := fill(second); more != 3 {
		t.Errorf("when the first was closed another has taken %d", more)
	}
	second.Close()
	if used, open := files.used.Load(), files.open.Load(); used != 0 || open != 0 {
		t.Errorf("nothing is open, and %d bytes of %d files are used", used, open)
	}
}

func TestOnlySoManyTempFilesAreOpen(t *testing.T) {
	files := NewTempFiles(filepath.Join(t.TempDir(), "users.db-spool-"))
	for range maxTempFiles {
		file, err := files.New()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
	}
	if _, err := files.New(); !errors.Is(err, ErrNoRoom) {
		t.Errorf("one more: %v", err)
	}
}

func TestATempFileThatCannotBeMadeSaysWhy(t *testing.T) {
	_, err := NewTempFiles(filepath.Join(t.TempDir(), "gone", "users.db-spool-")).New()
	if err == nil || err.Error() != "a temporary file cannot be written: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
