//go:build !windows

package commands

import "syscall"

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
