package database

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"users-api/database/dbfile"
	"users-api/models"
)

// TempFiles makes the files that hold imports and long answers while clients bring or take them. Slow clients could fill
// the disk that the database needs: so each file leaves at least as much free as it takes, all answers together too, and
// those to whoever may only read three times as much.
type TempFiles struct {
	prefix          string
	sent, toReaders atomic.Int64 // bytes of all answers, and of those to whoever may only read
}

// NewTempFiles returns a maker of files whose names begin with prefix, for as long as they have names.
func NewTempFiles(prefix string) *TempFiles { return &TempFiles{prefix: prefix} }

// Clear removes the files that a killed process left behind.
func (t *TempFiles) Clear() error {
	entries, err := os.ReadDir(filepath.Dir(t.prefix))
	for _, entry := range entries {
		path := filepath.Join(filepath.Dir(t.prefix), entry.Name())
		if strings.HasPrefix(path, t.prefix) {
			err = errors.Join(err, os.RemoveAll(path)) // another process that starts may have done so already
		}
	}
	return err
}

// New returns an empty file for what a client brings, which loses its name at once: a kill leaves none.
func (t *TempFiles) New() (*TempFile, error) {
	file, err := os.CreateTemp(filepath.Dir(t.prefix), filepath.Base(t.prefix)) // only for this user
	if err != nil {
		return nil, tempFileError(err)
	}
	_ = os.Remove(file.Name()) // Windows does not remove an open file: Close does
	return &TempFile{ReadSeeker: file, of: t, file: file}, nil
}

// NewAnswer returns an empty file for the answer to a request with this context.
func (t *TempFiles) NewAnswer(ctx context.Context) (*TempFile, error) {
	file, err := t.New()
	if err == nil {
		file.isAnswer, file.toReader = true, MayOnlyRead(ctx)
	}
	return file, err
}

// TempFile is written from its beginning to its end, and read as often as it is needed.
type TempFile struct {
	io.ReadSeeker      // the file
	of                 *TempFiles
	file               *os.File
	size               int64
	isAnswer, toReader bool
}

// grow counts what is added to the file, and returns how much must be free for that.
func (f *TempFile) grow(bytes int64) (needed int64) {
	f.size += bytes
	needed = f.size
	if f.isAnswer {
		needed = f.of.sent.Add(bytes)
	}
	if f.toReader {
		needed = max(needed, 3*f.of.toReaders.Add(bytes))
	}
	return needed
}

// Write appends data. An error is [models.ErrNoRoom], or of the disk; without a report of free space nothing is refused. A
// file does not wait for room: a client that is slow for hours may hold it.
func (f *TempFile) Write(data []byte) (int, error) {
	needed := f.grow(int64(len(data)))
	if free, err := dbfile.FreeBytes(filepath.Dir(f.of.prefix)); err == nil && free < needed {
		return 0, models.ErrNoRoom
	}
	n, err := f.file.Write(data)
	return n, tempFileError(err)
}

// Close discards the file.
func (f *TempFile) Close() {
	f.grow(-f.size)
	_ = f.file.Close() // its content is no longer needed
	_ = os.Remove(f.file.Name())
}

// tempFileError says what failed, without the name of the file, because the file cannot be found under it.
func tempFileError(err error) error {
	if err == nil {
		return nil
	}
	why := err.Error()
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		why = reason.Error()
	}
	return &models.StorageError{Text: "a temporary file cannot be written: " + why, Code: "spool", Meaning: why}
}
