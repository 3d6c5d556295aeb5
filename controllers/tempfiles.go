package controllers

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"users-api/database"
	"users-api/database/dbfile"
	"users-api/models"
)

// tempFiles makes the files that hold imports and long answers while clients bring or take them. Slow clients could fill
// the disk that the database needs: so each file leaves at least as much free as it takes, all answers together too, and
// those to whoever may only read three times as much.
type tempFiles struct {
	prefix          string       // of their names, for as long as they have one
	sent, toReaders atomic.Int64 // bytes of all answers, and of those to whoever may only read
}

// create returns an empty file for what a client brings, which loses its name at once: a kill leaves none.
func (t *tempFiles) create() (*tempFile, error) {
	file, err := os.CreateTemp(filepath.Dir(t.prefix), filepath.Base(t.prefix)) // only for this user
	if err != nil {
		return nil, models.TempFileError(err)
	}
	_ = os.Remove(file.Name()) // Windows does not remove an open file: Close does
	return &tempFile{ReadSeeker: file, of: t, file: file}, nil
}

// createAnswer returns an empty file for the answer to a request with this context.
func (t *tempFiles) createAnswer(ctx context.Context) (*tempFile, error) {
	file, err := t.create()
	if err == nil {
		file.isAnswer, file.toReader = true, database.MayOnlyRead(ctx)
	}
	return file, err
}

// tempFile is written from its beginning to its end, and read as often as it is needed.
type tempFile struct {
	io.ReadSeeker      // the file
	of                 *tempFiles
	file               *os.File
	size               int64
	isAnswer, toReader bool
}

// grow counts what is added to the file, and returns how much must be free for that.
func (f *tempFile) grow(bytes int64) (needed int64) {
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
func (f *tempFile) Write(data []byte) (int, error) {
	needed := f.grow(int64(len(data)))
	if free, err := dbfile.FreeBytes(filepath.Dir(f.of.prefix)); err == nil && free < needed {
		return 0, models.ErrNoRoom
	}
	n, err := f.file.Write(data)
	return n, models.TempFileError(err)
}

// Close discards the file.
func (f *tempFile) Close() {
	f.grow(-f.size)
	_ = f.file.Close() // its content is no longer needed
	_ = os.Remove(f.file.Name())
}
