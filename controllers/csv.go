package controllers

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"users-api/models"
)

// csvFile reads users from a CSV file. encoding/csv parses RFC 4180, and the code around it handles what else real
// files need.
type csvFile struct {
	in          *csv.Reader
	columns     int
	name, email int      // the index of each column
	ignored     []string // the other columns
	spreadsheet bool
	wasUTF16    bool
	last        int // the line in which the last row begins
}

// The errors about a whole CSV file.
var (
	errEmpty    = badRequest("The file is empty: its first line must name the columns, name and email among them")
	errOneLine  = badRequest("The file is one line: send it with curl --data-binary, because curl -d takes the line breaks out")
	errHeader   = badRequest("The header of the file is longer than 64 KiB: its first line must name the columns")
	errNUL      = badRequest("The header of the file has NUL bytes: save the file as UTF-8, or as UTF-16 with a byte order mark")
	errNoHeader = badRequest("The first line of the file must name the columns, name and email among them")
)

// The errors about one row.
var (
	errNotUTF8    = badRequest("The row is not text in UTF-8: save the file as UTF-8")
	errOpenQuote  = badRequest("A value in quotes does not end where a comma or the line does: write a quote within it twice")
	errInnerQuote = badRequest("A quote stands within a value that has none around it: put quotes around it, and write the inner one twice")
)

// openCSV reads the header of a file.
func openCSV(body io.Reader, spreadsheet bool) (*csvFile, error) {
	text, err := openText(body)
	if err != nil {
		return nil, err
	}
	delimiter, err := findDelimiter(text)
	if err != nil {
		return nil, err
	}
	in := csv.NewReader(newLineBreaks(text, delimiter))
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = rune(delimiter), -1, true
	file := &csvFile{in: in, spreadsheet: spreadsheet, wasUTF16: text.wasUTF16}
	header, err := file.read()
	if err == io.EOF { //nolint:errorlint // a reader returns it bare
		return nil, errEmpty
	}
	if err != nil {
		if row, ok := errors.AsType[*models.RowError](err); ok {
			return nil, badRequest("The header cannot be read. %s", row.Err.Error())
		}
		return nil, err
	}
	return file, file.setColumns(header)
}

// findDelimiter finds the delimiter in the header: a comma, or a semicolon or a tab if the header contains no comma. It
// reads no more of the file than the header.
func findDelimiter(text fileText) (byte, error) {
	var seen headerScan
	for at, ended := 0, false; !ended; at++ {
		begin, err := text.Peek(at + 1)
		switch {
		case err == nil:
			ended = seen.add(begin[at])
		case err == io.EOF && !seen.started: //nolint:errorlint // a reader returns it bare
			return 0, errEmpty
		case seen.found[0]:
			return 0, errNUL
		case err == io.EOF: //nolint:errorlint // a reader returns it bare
			return 0, errOneLine
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, errHeader
		default:
			return 0, unreadable(err)
		}
	}
	switch {
	case seen.found[0]:
		return 0, errNUL
	case !seen.found[','] && seen.found[';']:
		return ';', nil
	case !seen.found[','] && seen.found['\t']:
		return '\t', nil
	}
	return ',', nil
}

// headerScan is what is known about a header: whether it has begun, and which characters it contains outside quotes.
type headerScan struct {
	started bool // after blank lines
	quoted  bool
	found   [256]bool
}

// add takes one more character, and reports whether it ends the header.
func (s *headerScan) add(char byte) (ended bool) {
	if char == '"' {
		s.quoted = !s.quoted
	}
	s.found[char] = s.found[char] || !s.quoted
	s.started = s.started || strings.IndexByte(" \t\v\f\r\n", char) < 0
	return s.started && !s.quoted && (char == '\r' || char == '\n')
}

// setColumns finds the required columns.
func (f *csvFile) setColumns(header []string) error {
	f.columns, f.name, f.email, f.ignored = len(header), -1, -1, []string{}
	for i, title := range header {
		title = strings.TrimSpace(title)
		column := map[string]*int{"name": &f.name, "email": &f.email}[strings.ToLower(title)]
		if column == nil {
			f.ignored = append(f.ignored, title)
			continue
		}
		if *column >= 0 {
			return badRequest(`The header has the column %s twice`, strings.ToLower(title))
		}
		*column = i
	}
	switch {
	case f.name < 0 && f.email < 0:
		return errNoHeader
	case f.name < 0:
		return badRequest("The header has no column name")
	case f.email < 0:
		return badRequest("The header has no column email")
	}
	return nil
}

// rows yields the users. Rows that cannot be read are row errors. Any other error ends the sequence.
func (f *csvFile) rows() iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for {
			values, err := f.read()
			if err == io.EOF { //nolint:errorlint // a reader returns it bare
				return
			}
			var user models.NewUser
			if err == nil {
				user, err = f.user(values)
			}
			_, isRow := errors.AsType[*models.RowError](err)
			if !yield(models.ImportRow{Line: f.last, User: user}, err) || err != nil && !isRow {
				return
			}
		}
	}
}

// read returns the values of the next row that is not blank, as they were written.
func (f *csvFile) read() ([]string, error) {
	for {
		values, err := f.in.Read()
		if syntax, ok := errors.AsType[*csv.ParseError](err); ok {
			f.last = syntax.StartLine
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
		f.last, _ = f.in.FieldPos(0)
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

func (f *csvFile) user(values []string) (user models.NewUser, err error) {
	if len(values) != f.columns {
		return user, f.refuse(badRequest("The row has %s, and the header %s", count(len(values), "value"),
			count(f.columns, "column")))
	}
	user.Name, user.Email = values[f.name], values[f.email]
	if user.Name == "" || user.Email == "" {
		err = f.refuse(errRequired)
	}
	return user, err
}

func (f *csvFile) refuse(why *Error) error { return &models.RowError{Line: f.last, Err: why} }
