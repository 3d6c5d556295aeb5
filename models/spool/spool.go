// Package spool keeps users or the rows of a file until they are needed, so that a slow client holds neither a lock, nor a
// transaction, nor much memory.
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

// Spool keeps records until they are needed: a few in memory, and more in a file. One goroutine
// writes it, and others may read it meanwhile: they wait for what is still to come.
//
// The file loses its name as soon as it is there, so that the system removes it however the program ends. In between,
// a kill can leave it behind, empty; the next start removes it: see [Area.Clear].
type Spool struct {
	in *Area

	mu    sync.Mutex
	grown sync.Cond
	file  *os.File
	size  int64  // how much of the file is written
	taken int64  // of what all spools of the area may have
	rest  []byte // what comes behind the file
	ended bool
	err   error // why it ended early

	// What follows is of an export, and belongs to the goroutine that writes until it ends or the file has grown.
	Total int64 // how many users match
	limit int   // how many users are asked for; 0 is all
	added int   // users
	last  int64 // the id of the last user within the limit
}

// record is a user, or a row and the number of its line.
type record struct {
	number int64
	texts  [3]string
}

// spoolBytes is how much of a spool is held in memory.
const spoolBytes = 256 << 10

// add writes a record. An error is of the disk.
func (s *Spool) add(r record) error {
	body := binary.AppendVarint(make([]byte, 0, 128), r.number)
	for _, text := range r.texts {
		body = append(binary.AppendUvarint(body, uint64(len(text))), text...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(binary.AppendUvarint(s.rest, uint64(len(body))), body...)
	if len(s.rest) < spoolBytes {
		return nil
	}
	return s.flush()
}

// flush writes what is in memory into the file. The lock is held.
func (s *Spool) flush() error {
	if err := s.in.take(int64(len(s.rest))); err != nil {
		return err
	}
	s.taken += int64(len(s.rest))
	if s.file == nil {
		file, err := os.CreateTemp(filepath.Dir(s.in.prefix), filepath.Base(s.in.prefix)) // for this user alone
		if err != nil {
			return spoolError(err)
		}
		s.file = file
		if err := removeFile(file.Name()); err != nil && runtime.GOOS != "windows" { // which removes no open file
			return spoolError(err)
		}
	}
	n, err := s.file.Write(s.rest)
	s.size += int64(n)
	s.rest = s.rest[:0]
	s.grown.Broadcast()
	return spoolError(err)
}

// spoolError says what could not be done, without the name of a file that nobody can find.
func spoolError(err error) error {
	if err == nil {
		return nil
	}
	why := err.Error()
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		why = reason.Error()
	}
	return &models.StorageError{Text: "a temporary file cannot be written: " + why, Code: "spool",
		Meaning: why}
}

// end says that no more records come, and why.
func (s *Spool) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.err = true, err
	s.grown.Broadcast()
}

// Close forgets the records.
func (s *Spool) Close() {
	s.in.used.Add(-s.taken)
	if s.file != nil {
		_ = s.file.Close() // nothing of it is needed any more
		if runtime.GOOS == "windows" {
			_ = removeFile(s.file.Name())
		}
	}
}

// spoolReader reads the bytes of a spool.
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

// readRest reads what is in memory. Nothing is added to it any more.
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

// records yields what was added, in order. An error is the last thing that comes.
func (s *Spool) records() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
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
			if !yield(decode(body), err) || err != nil {
				return
			}
		}
	}
}

// decode returns the record that add encoded.
func decode(body []byte) (r record) {
	number, at := binary.Varint(body)
	r.number = number
	for i := range r.texts {
		length, n := binary.Uvarint(body[at:])
		at += n
		r.texts[i] = string(body[at : at+int(length)])
		at += int(length)
	}
	return r
}
