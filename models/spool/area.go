package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"users-api/models"
)

// Area is where spools are stored. Together they take at most as much of the disk as they leave free: otherwise clients
// that read or send slowly could fill the disk that the database needs.
type Area struct {
	prefix string
	fields models.Fields
	used   atomic.Int64
	free   func(directory string) (int64, error)
}

// NewArea returns an area whose spool files have names that begin with prefix, for as long as they have names.
func NewArea(prefix string, fields models.Fields) *Area {
	return &Area{prefix: prefix, fields: fields, free: freeBytes}
}

// New returns an empty spool.
func (a *Area) New() *Spool {
	s := &Spool{in: a}
	s.grown.L = &s.mu
	return s
}

// take reserves bytes for a spool, unless too few are free. If the system does not report free space, nothing is
// refused. A spool does not wait for others: an export would hold its read transaction meanwhile, and with it the -wal
// file of SQLite or the old rows of PostgreSQL, until the slowest client is done.
func (a *Area) take(bytes int64) error {
	used := a.used.Add(bytes)
	if free, err := a.free(filepath.Dir(a.prefix)); err == nil && used > free-bytes {
		a.used.Add(-bytes)
		return models.ErrNoRoom
	}
	return nil
}

// Clear removes the files that a killed process left behind.
func (a *Area) Clear() error {
	entries, err := os.ReadDir(filepath.Dir(a.prefix))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(a.prefix), entry.Name())
		if strings.HasPrefix(path, a.prefix) {
			err = errors.Join(err, removeFile(path))
		}
	}
	return err
}

// removeFile removes a file; another process that starts may have done so already.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
