//go:build !windows

package database

import "syscall"

// freeBytes returns how much may still be written to the disk of a directory.
func freeBytes(directory string) (int64, error) {
	var disk syscall.Statfs_t
	err := syscall.Statfs(directory, &disk)
	return int64(disk.Bavail) * int64(disk.Bsize), err //nolint:unconvert // the types differ between systems
}
