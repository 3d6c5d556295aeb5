package controllers

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"users-api/models"
)

// csvFile reads users from a CSV file. encoding/csv parses RFC 4180, and the code around it handles what else real
// files need.
type csvFile struct {
	in          *csv.Reader
	fields      models.Fields
	columns     []*models.Field // nil for a column that is ignored
	ignored     []string        // the titles of these columns
	spreadsheet bool
	wasUTF16    bool
	row         models.ImportRow // the last one
}

// The errors about a whole CSV file.
var (
	errOneLine = newError(fileInvalid,
		"The file is one line: send it with curl --data-binary, because curl -d takes the line breaks out")
	errHeader = newError(fileInvalid,
		"The header of the file is longer than 64 KiB: its first line must name the columns")
	errNUL = newError(fileInvalid,
		"The header of the file has NUL bytes: save the file as UTF-8, or as UTF-16 with a byte order mark")
)

// The errors about one row.
var (
	errNotUTF8    = newError(fileInvalid, "The row is not text in UTF-8: save the file as UTF-8")
	errOpenQuote  = newError(fileInvalid, `This quoted value is not closed correctly. Write a quote inside it as ""`)
	errInnerQuote = newError(fileInvalid, `This value has a quote in it but none around it. `+
		`Put quotes around the value, and write the quote inside it as ""`)
)

func openCSV(body io.Reader, fields models.Fields, spreadsheet bool) (*csvFile, error) {
	text, err := openText(body)
	if err != nil {
		return nil, err
	}
	file := &csvFile{fields: fields, spreadsheet: spreadsheet, wasUTF16: text.wasUTF16}
	header, err := file.readHeader(text)
	row, isRow := errors.AsType[*models.RowError](err)
	switch {
	case err == io.EOF: //nolint:errorlint // a reader returns it bare
		return nil, newError(fileInvalid, "The file is empty: its first line must name the columns, %s among them",
			join(fields.RequiredNames(), "and"))
	case isRow:
		return nil, newError(fileInvalid, "The header cannot be read. %s", row.Err)
	case err != nil:
		return nil, err
	}
	return file, file.setColumns(header)
}

// readHeader returns the titles of the columns, or [io.EOF] if the file has nothing but blank lines.
func (f *csvFile) readHeader(text fileText) ([]string, error) {
	delimiter, err := findDelimiter(text)
	if err != nil {
		return nil, err
	}
	f.in = csv.NewReader(&lineBreaks{from: text, delimiter: delimiter})
	f.in.Comma, f.in.FieldsPerRecord, f.in.ReuseRecord = rune(delimiter), -1, true
	return f.read()
}

// findDelimiter finds the delimiter in the header: a comma, or a semicolon or a tab if the header contains no comma. It
// reads no more of the file than the header.
func findDelimiter(text fileText) (byte, error) {
	var state valueState
	var found [256]bool // the characters outside quotes
	for at, begun, ended := 0, false, false; !ended; at++ {
		begin, err := text.Peek(at + 1)
		if err != nil {
			return 0, noHeader(err, begun)
		}
		char := begin[at]
		state = state.after(char, char) // any character may be the delimiter, so a quote may follow any
		if char == 0 && state != inQuotes {
			return 0, errNUL
		}
		found[char] = found[char] || state != inQuotes
		begun = begun || strings.IndexByte(" \t\v\f\r\n", char) < 0 // after blank lines
		ended = begun && state != inQuotes && (char == '\r' || char == '\n')
	}
	for _, delimiter := range []byte(",;\t") {
		if found[delimiter] {
			return delimiter, nil
		}
	}
	return ',', nil
}

// noHeader returns why a header has no end, given the error of reading it.
func noHeader(err error, begun bool) error {
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return errHeader
	case err != io.EOF: //nolint:errorlint // a reader returns it bare
		return unreadable(err)
	case begun:
		return errOneLine
	default:
		return err
	}
}

func (f *csvFile) setColumns(header []string) error {
	f.columns, f.ignored = make([]*models.Field, len(header)), []string{}
	for i, title := range header {
		title = strings.TrimSpace(title)
		field := f.fields.Find(strings.ToLower(title))
		if field == nil {
			f.ignored = append(f.ignored, title)
		} else if slices.Contains(f.columns, field) {
			return newError(fileInvalid, "The header has the column %s twice", field.Name)
		}
		f.columns[i] = field
	}
	return f.expectColumns()
}

func (f *csvFile) expectColumns() error {
	required := f.fields.RequiredNames()
	missing := slices.DeleteFunc(slices.Clone(required), func(name string) bool {
		return slices.Contains(f.columns, f.fields.Find(name))
	})
	switch len(missing) {
	case 0:
		return nil
	case len(required):
		return newError(fileInvalid, "The first line of the file must name the columns, %s among them", join(required, "and"))
	default:
		return newError(fileInvalid, "The header has no column %s", missing[0])
	}
}

// next returns the next user, or [io.EOF]. The error of a row that cannot be read is a row error.
func (f *csvFile) next() (models.ImportRow, error) {
	values, err := f.read()
	if err == nil {
		err = f.take(values)
	}
	return f.row, err
}

// take takes the values of a row. An empty one is NULL.
func (f *csvFile) take(values []string) error {
	f.row.Values = models.Values{}
	if len(values) != len(f.columns) {
		return f.refuse(newError(fileInvalid, "The row has %s, and the header %s", count(len(values), "value", "values"),
			count(len(f.columns), "column", "columns")))
	}
	for i, field := range f.columns {
		switch {
		case field == nil:
		case values[i] == "":
			f.row.SetNull(field)
		default:
			f.row.Set(field, values[i])
		}
	}
	if err := checkRequired(f.fields, &f.row.User); err != nil {
		return f.refuse(err)
	}
	return nil
}

// read returns the values of the next row that is not blank, as they were written.
func (f *csvFile) read() ([]string, error) {
	for {
		values, err := f.in.Read()
		if syntax, ok := errors.AsType[*csv.ParseError](err); ok {
			f.row.Line = syntax.StartLine
			if errors.Is(syntax, csv.ErrBareQuote) {
				return nil, f.refuse(errInnerQuote)
			}
			return nil, f.refuse(errOpenQuote)
		}
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, unreadable(err)
		}
		f.row.Line, _ = f.in.FieldPos(0)
		if len(values) == 1 && strings.TrimSpace(values[0]) == "" {
			continue
		}
		return values, f.decode(values)
	}
}

// decode restores the values as they were written, and checks that they are valid text.
func (f *csvFile) decode(values []string) error {
	for i, value := range values {
		if strings.IndexByte(value, hiddenCR) >= 0 {
			values[i] = strings.ReplaceAll(value, string([]byte{hiddenCR}), "\r")
		}
		if !utf8.ValidString(values[i]) || f.wasUTF16 && strings.ContainsRune(values[i], utf8.RuneError) {
			return f.refuse(errNotUTF8)
		}
		if f.spreadsheet {
			values[i] = fromSpreadsheet(values[i])
		}
	}
	return nil
}

func (f *csvFile) refuse(why error) error { return &models.RowError{Line: f.row.Line, Err: why} }
