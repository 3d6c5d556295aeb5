package controllers

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"users-api/models"
)

// csvFile reads users from a CSV file. encoding/csv parses RFC 4180, and the code around it handles what else real
// files need.
type csvFile struct {
	in          *csv.Reader
	columns     []*models.Field // nil for a column that is ignored
	spreadsheet bool
	row         models.ImportRow // the last one
}

// The errors about one row.
var (
	errRowNotUTF8 = newError("file_invalid", "The row is not text in UTF-8: save the file as UTF-8")
	errOpenQuote  = newError("file_invalid", `This quoted value is not closed correctly. Write a quote inside it as ""`)
	errInnerQuote = newError("file_invalid", `This value has a quote in it but none around it. `+
		`Put quotes around the value, and write the quote inside it as ""`)
)

// openCSV is an [openFile] that reads the header.
func openCSV(body io.Reader, fields models.Fields, spreadsheet bool) (nextRow, []string, error) {
	text, err := openText(body)
	if err != nil {
		return nil, nil, err
	}
	start, err := text.Peek(largestHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	delimiter, err := findDelimiter(start, fields)
	if err != nil {
		return nil, nil, err
	}
	f := &csvFile{in: csv.NewReader(&csvRows{from: text, delimiter: delimiter}), spreadsheet: spreadsheet}
	f.in.Comma, f.in.FieldsPerRecord, f.in.ReuseRecord = rune(delimiter), -1, true
	header, err := f.read()
	row, isRow := errors.AsType[*models.RowError](err)
	switch {
	case isRow && row.Err == errRowNotUTF8: //nolint:errorlint // refuse wraps it once
		return nil, nil, errNotUTF8
	case isRow:
		return nil, nil, newError("file_invalid", "The header cannot be read. %s", row.Err)
	case err != nil:
		return nil, nil, err
	}
	ignored := []string{}
	for i, title := range header {
		header[i] = strings.TrimSpace(title)
		field := fields.Find(strings.ToLower(header[i]))
		if field == nil {
			ignored = append(ignored, header[i])
		} else if slices.Contains(f.columns, field) {
			return nil, nil, newError("file_invalid", `The header has the column "%s" twice`, field.Name)
		}
		f.columns = append(f.columns, field)
	}
	missing := slices.DeleteFunc(fields.RequiredNames(), func(name string) bool {
		return slices.Contains(f.columns, fields.Find(name))
	})
	if len(missing) > 0 {
		return nil, nil, newError("file_invalid", "The first line of the file must name the columns: it has %s, and not %s",
			join(quoted(header), "and"), join(quoted(missing), "and"))
	}
	return f.next, ignored, nil
}

// findDelimiter finds the delimiter in the header: a comma, or a semicolon or a tab if the header contains no comma.
func findDelimiter(start []byte, fields models.Fields) (byte, error) {
	var found [256]bool // the characters outside quotes
	begun, quoted := false, false
	for _, char := range start {
		begun = begun || strings.IndexByte(" \t\v\f\r\n", char) < 0 // after blank lines
		switch {
		case char == '"':
			quoted = !quoted
		case quoted:
		case char == 0: // most likely UTF-16
			return 0, errNotUTF8
		case char == '\n' && begun:
			for _, delimiter := range []byte(",;\t") {
				if found[delimiter] {
					return delimiter, nil
				}
			}
			return ',', nil
		default:
			found[char] = true
		}
	}
	if !begun && len(start) < largestHeader {
		return 0, newError("file_invalid", "The file is empty: its first line must name the columns, %s among them",
			join(fields.RequiredNames(), "and"))
	}
	return 0, errOneLine
}

// next is a [nextRow]. The error of a row that cannot be read is a [*models.RowError]. An empty value is NULL.
func (f *csvFile) next() (models.ImportRow, error) {
	values, err := f.read()
	if err != nil {
		return f.row, err
	}
	f.row.Values = models.Values{}
	if len(values) != len(f.columns) {
		return f.row, f.refuse(newError("file_invalid", "The row has %s, and the header %s",
			count(len(values), "value", "values"), count(len(f.columns), "column", "columns")))
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
	return f.row, nil
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
		if err != nil {
			return nil, err
		}
		if f.row.Line, _ = f.in.FieldPos(0); len(values) == 1 && strings.TrimSpace(values[0]) == "" {
			continue
		}
		for i := range values {
			values[i] = strings.ReplaceAll(values[i], string([]byte{hiddenCR}), "\r")
			if !utf8.ValidString(values[i]) {
				return nil, f.refuse(errRowNotUTF8)
			}
			if f.spreadsheet {
				values[i] = fromSpreadsheet(values[i])
			}
		}
		return values, nil
	}
}

func (f *csvFile) refuse(why error) error { return &models.RowError{Line: f.row.Line, Err: why} }

// csvRows is the text of a CSV file for encoding/csv, which would take a row of any size into memory, and would remove
// each CR before a LF within quotes: a name that contains CRLF must come back as it was exported.
type csvRows struct {
	from                        io.Reader
	delimiter                   byte
	quoted                      bool
	line, begin, bytes, columns int // the line, and of its row: the line where it begins, its bytes, and its delimiters
	err                         error
}

// UTF-8 contains neither of these bytes. One stands for a CR within quotes, and the other for a byte in the file that
// has the value of the first, so that it is refused.
const (
	hiddenCR  = 0xff
	otherByte = 0xfe
)

func (r *csvRows) Read(into []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(into)
	for i, char := range into[:n] {
		r.bytes++
		switch {
		case char == hiddenCR:
			into[i] = otherByte
		case char == '"':
			r.quoted = !r.quoted // twice for a quote within quotes
		case char == '\r' && r.quoted:
			into[i] = hiddenCR
		case char == '\n':
			if r.line++; !r.quoted {
				r.begin, r.bytes, r.columns = r.line, 0, 0
			}
		case char == r.delimiter && !r.quoted:
			r.columns++
		}
		if r.columns >= maxColumns {
			err = newError("file_invalid", "The row in line %d has more than %d values", r.begin+1, maxColumns)
		} else if r.bytes > largestRow {
			err = newError("file_invalid",
				"The row in line %d is longer than 4 MiB: a quote that ends a value may be missing", r.begin+1)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			r.err = err
			return i, err
		}
	}
	return n, err
}

// quoted returns words in quotes, or the first of them if they are many.
func quoted(words []string) (all []string) {
	for i, word := range words {
		if i == 20 {
			return append(all, "others")
		}
		all = append(all, `"`+shorten(word)+`"`)
	}
	return all
}

// writeCSV is a [writeFile]: RFC 4180 as encoding/csv writes it, but with CRLF after each row, and not within values.
func writeCSV(fields models.Fields, spreadsheet bool) (header []byte, row func(*models.User) []byte) {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	line := func(values []string) []byte {
		text.Reset()
		_ = out.Write(values) // a buffer takes everything
		out.Flush()
		return append(bytes.TrimSuffix(text.Bytes(), []byte("\n")), "\r\n"...)
	}
	columns := fields.Columns()
	if spreadsheet {
		header = []byte("\xef\xbb\xbf")
	}
	header = append(header, line(columns)...)
	values := make([]string, len(columns))
	return header, func(user *models.User) []byte {
		for i, column := range columns {
			switch column {
			case "id":
				values[i] = strconv.FormatInt(user.ID, 10)
			case "created_at":
				values[i] = user.CreatedAt
			default: // NULL is an empty text
				values[i] = *cmp.Or(fields.Find(column).Value(&user.NewUser), new(""))
			}
			if spreadsheet {
				values[i] = toSpreadsheet(values[i])
			}
		}
		return line(values)
	}
}

const formulaStarts = "=+-@\t\r"

// separators are the characters after which a spreadsheet may begin a new cell. Which one it uses depends on its user's
// settings. If that is not the comma, quotes around a value do not hide the separators in it, because quotes count only
// at the start of a cell.
const separators = ",;|\t\r\n"

// toSpreadsheet puts an apostrophe before each character that would begin a formula in some spreadsheet.
func toSpreadsheet(value string) string {
	return beforeFormulas(value, func(before string) string { return before + "'" })
}

// fromSpreadsheet removes the apostrophes that toSpreadsheet added.
func fromSpreadsheet(value string) string {
	return beforeFormulas(value, func(before string) string { return strings.TrimSuffix(before, "'") })
}

// beforeFormulas changes the text before each place where a formula would begin: at the start of a value, or after a
// separator. Quotes in between do not count, because a spreadsheet may remove them. Apostrophes do not count either, so
// that fromSpreadsheet leaves as many as there were.
func beforeFormulas(value string, change func(before string) string) string {
	var changed []byte
	done := 0
	for cell, next := 0, 0; next >= 0; cell += next + 1 {
		start := len(value) - len(strings.TrimLeft(value[cell:], `"'`))
		if start < len(value) && strings.IndexByte(formulaStarts, value[start]) >= 0 {
			changed = append(changed, change(value[done:start])...)
			done = start
		}
		next = strings.IndexAny(value[cell:], separators)
	}
	return string(changed) + value[done:]
}
