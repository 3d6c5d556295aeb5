package controllers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"users-api/database"
)

// spool is a response that is written to its end before it is sent: its headers say how it ends, it never breaks off
// because storage fails, and a slow client holds no transaction. What is long is in a temporary file.
type spool struct {
	temp   *database.TempFiles
	most   int          // bytes that are not in a file
	memory bytes.Buffer // what is not in the file
	file   *database.TempFile
	sum    hash.Hash
}

// listMemory is how many bytes of a list are not in a file.
const listMemory = 128 << 10

func newSpool(temp *database.TempFiles, most int) *spool {
	return &spool{temp: temp, most: most, sum: sha256.New()}
}

// Write appends data. The error is as for [database.TempFile.Write].
func (s *spool) Write(data []byte) (int, error) {
	_, _ = s.sum.Write(data)
	_, _ = s.memory.Write(data)
	if s.memory.Len() < s.most {
		return len(data), nil
	}
	return len(data), s.flush()
}

func (s *spool) flush() (err error) {
	if s.file == nil {
		if s.file, err = s.temp.New(); err != nil {
			return err
		}
	}
	_, err = s.memory.WriteTo(s.file)
	return err
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
	if s != nil && s.file != nil {
		s.file.Close()
	}
}
