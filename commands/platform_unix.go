//go:build !windows

package commands

import (
	"errors"
	"os"
	"syscall"
)

// setUser makes id the user and the only group of this process.
func setUser(id int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(id); err != nil {
		return err
	}
	return syscall.Setuid(id)
}

func sameDisk(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return errors.Join(err, err2) == nil && one.Sys().(*syscall.Stat_t).Dev == other.Sys().(*syscall.Stat_t).Dev
}
