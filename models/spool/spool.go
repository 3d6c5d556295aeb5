// Package spool stores users or the rows of a file until they are needed, so that a slow client holds no lock, no
// transaction and little memory.
package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"users-api/models"
)

// Spool stores records until they are needed: a few in memory, and more in a file. One goroutine writes it, and others
// may read it meanwhile: they wait for the records that are still to come.
//
// The file loses its name as soon as it exists, so the system removes it however the program ends. A kill in between
// can leave it behind, empty; the next startup removes it: see [Area.Clear].
type Spool struct {
	in *Area

	mu    sync.Mutex
	grown sync.Cond
	file  *os.File
	size  int64  // how much of the file is written
	taken int64  // bytes that are reserved in the area
	rest  []byte // what follows the content of the file
	ended bool
	err   error // why it ended early

	// The following fields are for exports. They belong to the goroutine that writes, until it ends or the file has
	// grown.
	Cursor string // of the feed of changes
	Total  int64  // how many users match
	limit  int    // how many users are requested; 0 is all
	whole  bool   // send is called when all users are there
	added  int    // how many users were added
	last   int64  // the id of the last user within the limit
}

const spoolBytes = 256 << 10 // how much of a spool is held in memory

// add writes a record. An error is [models.ErrNoRoom], or of the disk.
func (s *Spool) add(record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(binary.AppendUvarint(s.rest, uint64(len(record))), record...)
	if len(s.rest) < spoolBytes {
		return nil
	}
	return s.flush()
}

// flush moves the records from memory to the file. The caller holds the lock.
func (s *Spool) flush() error {
	if err := s.in.take(int64(len(s.rest))); err != nil {
		return err
	}
	s.taken += int64(len(s.rest))
	if s.file == nil {
		file, err := os.CreateTemp(filepath.Dir(s.in.prefix), filepath.Base(s.in.prefix)) // only for this user
		if err != nil {
			return spoolError(err)
		}
		s.file = file
		if err := removeFile(file.Name()); err != nil && runtime.GOOS != "windows" { // Windows does not remove an open file
			return spoolError(err)
		}
	}
	n, err := s.file.Write(s.rest)
	s.size += int64(n)
	s.rest = s.rest[:0]
	s.grown.Broadcast()
	return spoolError(err)
}

// spoolError says what failed, without the name of the file, because the file cannot be found under it.
func spoolError(err error) error {
	if err == nil {
		return nil
	}
	why := err.Error()
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		why = reason.Error()
	}
	return &models.StorageError{Text: "a temporary file cannot be written: " + why, Code: "spool", Meaning: why}
}

// end marks the end of the records, with the error that caused it, if any.
func (s *Spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.err = true, err
	s.grown.Broadcast()
}

// Close discards the records.
func (s *Spool) Close() { s.discard() }

func (s *Spool) discard() {
	s.in.used.Add(-s.taken)
	if s.file != nil {
		_ = s.file.Close() // its content is no longer needed
		if runtime.GOOS == "windows" {
			_ = removeFile(s.file.Name())
		}
	}
}

type spoolReader struct {
	*Spool
	at int64
}

func (r *spoolReader) Read(into []byte) (int, error) {
	r.mu.Lock()
	for r.at == r.size && !r.ended {
		r.grown.Wait()
	}
	if r.at >= r.size {
		defer r.mu.Unlock()
		return r.readRest(into)
	}
	file, there := r.file, r.size-r.at
	r.mu.Unlock()
	n, err := file.ReadAt(into[:min(int64(len(into)), there)], r.at)
	r.at += int64(n)
	return n, err
}

// readRest reads the records in memory. No more are added to them.
func (r *spoolReader) readRest(into []byte) (int, error) {
	n := copy(into, r.rest[r.at-r.size:])
	r.at += int64(n)
	switch {
	case n > 0:
		return n, nil
	case r.err != nil:
		return 0, r.err
	}
	return 0, io.EOF
}

// records yields the added records in order. Each is valid until the next is requested. An error ends the sequence.
func (s *Spool) records() iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		in := bufio.NewReaderSize(&spoolReader{Spool: s}, 64<<10)
		var body []byte
		for {
			length, err := binary.ReadUvarint(in)
			if err == nil {
				body = append(body[:0], make([]byte, length)...)
				_, err = io.ReadFull(in, body)
			}
			if err == io.EOF { //nolint:errorlint // a reader returns it bare
				return
			}
			if !yield(&record{rest: body}, err) || err != nil {
				return
			}
		}
	}
}
