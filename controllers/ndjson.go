package controllers

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"

	"users-api/models"
)

// ndjsonFile reads users from a file with one JSON object per line.
type ndjsonFile struct {
	in   *bufio.Reader
	line int
}

var (
	errLineTooLong = badRequest("The line is longer than 4 MiB")
	errNoRows      = badRequest("The file is empty: each line must be a JSON object with a name and an email")
)

func openNDJSON(body io.Reader) (*ndjsonFile, error) {
	text, err := openText(body)
	if err != nil {
		return nil, err
	}
	return &ndjsonFile{in: bufio.NewReaderSize(text, largestRow+len("\n"))}, nil
}

// rows yields the users. Each line is read like the body that creates a user, and blank lines are skipped. A file with
// only blank lines is refused: with on_missing=delete, a mistyped file name would delete every user.
func (f *ndjsonFile) rows() iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for isEmpty := true; ; isEmpty = false {
			text, err := f.readRow()
			if err == io.EOF { //nolint:errorlint // a reader returns it bare
				if isEmpty {
					yield(models.ImportRow{}, errNoRows)
				}
				return
			}
			var sent creation
			if err == nil {
				err = f.refuse((oneObject{}).BindBody(text, &sent))
			}
			_, isRow := errors.AsType[*models.RowError](err)
			if !yield(models.ImportRow{Line: f.line, User: sent.NewUser}, err) || err != nil && !isRow {
				return
			}
		}
	}
}

// readRow returns the next line that is not blank. It is valid until the next line is read.
func (f *ndjsonFile) readRow() ([]byte, error) {
	for {
		text, err := f.read()
		if err != nil || len(bytes.Trim(text, " \t\r\n")) > 0 {
			return text, err
		}
	}
}

// read returns the next line. It is valid until the next line is read.
func (f *ndjsonFile) read() ([]byte, error) {
	f.line++
	text, err := f.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		if err := f.skip(); err != nil {
			return nil, unreadable(err)
		}
		return nil, f.refuse(errLineTooLong)
	case err == io.EOF && len(text) == 0:
		return nil, io.EOF
	case err != nil && err != io.EOF:
		return nil, unreadable(err)
	}
	return text, nil
}

// skip skips the rest of a line, or of the file.
func (f *ndjsonFile) skip() error {
	for {
		_, err := f.in.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (f *ndjsonFile) refuse(why error) error {
	if why == nil {
		return nil
	}
	return &models.RowError{Line: f.line, Err: why}
}
