package controllers

import (
	"path/filepath"
	"testing"
)

func TestATempFileThatCannotBeMadeSaysWhy(t *testing.T) {
	files := tempFiles{prefix: filepath.Join(t.TempDir(), "gone", "users.db-spool-")}
	_, err := files.create()
	if err == nil || err.Error() != "a temporary file cannot be written: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
