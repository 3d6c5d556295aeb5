//go:build !windows

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// writable returns nil if this process may write to path. Otherwise the error says who may, and which command helps.
func writable(path string) error {
	const write = 2 // W_OK of access(2)
	err := syscall.Access(path, write)
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%s cannot be written (%w): mount it writable, or set DATA_DIR to another directory", path, err)
	}
	info, statErr := os.Stat(path)
	if statErr != nil {
		return fmt.Errorf("cannot look at the database: %w", statErr)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	return fmt.Errorf("%s cannot be written (%w): it belongs to uid %d with mode %s and this process is uid %d; `chown -R %d %s` helps",
		path, err, owner, info.Mode(), os.Geteuid(), os.Geteuid(), path)
}
