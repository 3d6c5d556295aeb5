//go:build !windows

package backup

import (
	"os"
	"syscall"
)

// giveTo gives a file the owner and the group of another file, or the owner of a directory.
func giveTo(path string, owner os.FileInfo) error {
	made, err := os.Stat(path)
	if err != nil {
		return err
	}
	is, want := made.Sys().(*syscall.Stat_t), owner.Sys().(*syscall.Stat_t)
	if is.Uid == want.Uid && (owner.IsDir() || is.Gid == want.Gid) {
		return nil
	}
	return os.Chown(path, int(want.Uid), int(want.Gid))
}
