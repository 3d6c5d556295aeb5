package controllers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"golang.org/x/sync/semaphore"

	"users-api/database"
)

// spool is a response that is written to its end before it is sent: its headers say how it ends, it never breaks off
// because storage fails, and a slow client holds no transaction. What is long is in a temporary file.
type spool struct {
	ctx    context.Context // of the request
	temp   *tempFiles
	places *semaphore.Weighted
	place  bool         // whether it has one
	memory bytes.Buffer // what is not in the file
	file   *tempFile
	sum    hash.Hash
}

const (
	// smallAnswer is how many bytes of an answer need neither a place in memory nor a file, and largeAnswer how many need
	// no file if there is a place: so it can be given while the disk is full.
	smallAnswer = 128 << 10
	largeAnswer = 1 << 20
	// answersInMemory is how many places there are, and again for whoever may only read. Slow clients keep them.
	answersInMemory = 16
)

func (a *API) newSpool(ctx context.Context) *spool {
	s := &spool{ctx: ctx, temp: &a.temp, places: a.places, sum: sha256.New()}
	if database.MayOnlyRead(ctx) {
		s.places = a.readersPlaces
	}
	return s
}

// Write appends data. The error is as for [tempFile.Write].
func (s *spool) Write(data []byte) (int, error) {
	_, _ = s.sum.Write(data)
	_, _ = s.memory.Write(data)
	size := s.memory.Len()
	if size > smallAnswer && s.file == nil && !s.place {
		s.place = s.places.TryAcquire(1)
	}
	if size <= smallAnswer || s.place && size <= largeAnswer {
		return len(data), nil
	}
	return len(data), s.flush()
}

func (s *spool) flush() (err error) {
	if s.file == nil {
		s.file, err = s.temp.createAnswer(s.ctx)
	}
	if err == nil {
		_, err = s.memory.WriteTo(s.file)
		s.leave()
	}
	return err
}

func (s *spool) leave() {
	if s.place {
		s.places.Release(1)
	}
	s.place = false
}

// content returns all that was written, how long it is, and an entity tag of it.
func (s *spool) content() (content io.ReadSeeker, size int64, tag string, err error) {
	tag = `"` + hex.EncodeToString(s.sum.Sum(nil)[:16]) + `"`
	if s.file == nil {
		return bytes.NewReader(s.memory.Bytes()), int64(s.memory.Len()), tag, nil
	}
	if err = s.flush(); err == nil {
		s.memory = bytes.Buffer{} // a slow client needs it no more
		size, err = s.file.Seek(0, io.SeekEnd)
	}
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	return s.file, size, tag, err
}

func (s *spool) close() {
	if s == nil {
		return
	}
	s.leave()
	if s.file != nil {
		s.file.Close()
	}
}
