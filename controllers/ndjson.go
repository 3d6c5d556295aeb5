package controllers

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"users-api/models"
)

// ndjsonFile reads users from a file with one JSON object per line.
type ndjsonFile struct {
	in      *bufio.Reader
	fields  models.Fields
	line    int
	isEmpty bool // no row was read yet
}

func openNDJSON(body io.Reader, fields models.Fields) (*ndjsonFile, error) {
	text, err := openText(body)
	if err != nil {
		return nil, err
	}
	return &ndjsonFile{in: bufio.NewReaderSize(text, largestRow+len("\n")), fields: fields, isEmpty: true}, nil
}

// next returns the next user, or [io.EOF]. Each line is read like the body that creates a user, and blank lines are
// skipped. A file with only blank lines is refused: with on_missing=delete, a mistyped file name would delete every user.
func (f *ndjsonFile) next() (models.ImportRow, error) {
	sent := creation{fields: f.fields}
	text, err := f.read()
	if err == nil {
		if why := (oneObject{}).BindBody(text, &sent); why != nil {
			err = f.refuse(why)
		}
	}
	if err == io.EOF && f.isEmpty { //nolint:errorlint // a reader returns it bare
		err = newError(fileInvalid, "The file is empty: each line must be a JSON object with %s",
			join(withArticles(f.fields.RequiredNames()), "and"))
	}
	f.isEmpty = false
	return models.ImportRow{Line: f.line, Values: sent.Values}, err
}

// read returns the next line that is not blank. It is valid until the next line is read.
func (f *ndjsonFile) read() ([]byte, error) {
	for tooLong := false; ; {
		text, err := f.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			continue
		}
		f.line++
		switch {
		case err != nil && err != io.EOF:
			return nil, unreadable(err)
		case tooLong:
			return nil, f.refuse(newError(fileInvalid, "The line is longer than 4 MiB"))
		case len(bytes.Trim(text, space)) > 0:
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}

func (f *ndjsonFile) refuse(why error) error { return &models.RowError{Line: f.line, Err: why} }
