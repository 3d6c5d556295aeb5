package controllers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"users-api/database"
	"users-api/models"
)

// openNDJSON opens a file with one JSON object per line. Each line is read like the body that creates a user, and blank
// lines are skipped. A file with only blank lines is refused: with on_missing=delete, a mistyped file name would delete
// every user. So is one in which no line is an object.
func openNDJSON(body io.Reader, fields models.Fields, _ bool, found *notes) (nextRow, error) {
	text, _, err := openText(body)
	if err != nil {
		return nil, err
	}
	rows, hasObject := newTextRows(text, bufio.ScanLines), false
	return func() (row database.ImportRow, err error) {
		isFirst := rows.line == 0
		line, err := rows.next()
		line = bytes.Trim(line, space)
		hasObject = hasObject || bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}"))
		switch {
		case isFirst && errors.Is(err, io.EOF):
			err = NewError("file_invalid", "The file is empty: each line must be a JSON object with %s",
				join(fields.RequiredNames(), "and"))
		case isFirst && err == nil && line[0] == '[', errors.Is(err, io.EOF) && !hasObject:
			err = errNotLines
		case err != nil:
		case isFirst && bytes.Contains(line, []byte("}{")) && !jsontext.Value(line).IsValid(allowDuplicates):
			err = errOneLine
		}
		if err != nil {
			return row, err
		}
		sent := sentUser{fields: fields}
		row.Err = OneObject{"The line"}.BindBody(line, &sent)
		row.Line, row.Values = rows.line, sent.Values
		if row.Err == nil {
			row.Err = found.ignoreKeys(line, fields, &row.Profile)
		}
		return row, nil
	}, nil
}

// ignoreKeys notes the keys of a line that are no fields. If one is meant for a missing field, it returns an error.
func (n *notes) ignoreKeys(line jsontext.Value, fields models.Fields, user *models.Profile) error {
	lacking := lacking(fields, user)
	var meant []string
	for key := range Members(line) {
		if fields.Find(key) != nil {
			continue
		}
		if key = Shorten(key); len(n.IgnoredColumns) < models.MaxListed && !slices.Contains(n.IgnoredColumns, key) {
			n.IgnoredColumns = append(n.IgnoredColumns, key)
		}
		if field := titled(fields, key); field != nil && slices.Contains(lacking, field.Name) && len(meant) < len(lacking) {
			meant = append(meant, fmt.Sprintf("%q is not %q", key, field.Name))
		}
	}
	if len(meant) > 0 {
		return NewError("field_missing", "%s: %s", errRequired(lacking), join(meant, "and"))
	}
	return nil
}
