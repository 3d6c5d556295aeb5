//go:build !windows

package backup

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"users-api/models/sqlite/sqlitetest"
)

// root may restore what another user serves.
func TestARestoredDatabaseBelongsToTheOwnerOfTheOldOneOrOfTheDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	const uid, gid = 65534, 65533
	old, group, directory := sqlitetest.Closed(t, "old"), sqlitetest.Closed(t, "old"), t.TempDir()
	err := errors.Join(os.Chown(old, uid, gid), os.Chown(group, 0, gid), os.Chown(directory, uid, gid))
	if err != nil {
		t.Fatal(err)
	}
	for path, owner := range map[string]uint32{old: uid, group: 0, filepath.Join(directory, "users.db"): uid} {
		if _, err := restore(t, path, sqlitetest.Closed(t, "new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if is := info.Sys().(*syscall.Stat_t); is.Uid != owner || is.Gid != gid {
			t.Errorf("%s belongs to %d:%d", path, is.Uid, is.Gid)
		}
	}
}
