package controllers

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"users-api/database"
	"users-api/models"
)

// csvFile reads users from a CSV file. It finds where each row ends, and encoding/csv reads the row (RFC 4180).
type csvFile struct {
	rows        *textRows
	text        *bufio.Reader // one row, which in reads
	in          *csv.Reader
	loneCR      bool // the last row has a CR outside quotes that ends no line
	fields      models.Fields
	columns     []*models.Field // nil for a column that is ignored
	spreadsheet bool
	found       *notes
	row         database.ImportRow // the last one
}

// The errors about one row.
var (
	errOpenQuote = NewError("file_invalid", `This quoted value is not closed correctly: the separator or the end of the `+
		`line must follow its last quote, and a quote inside it is written ""`)
	errInnerQuote = NewError("file_invalid", `This value has a quote in it but none around it. `+
		`Put quotes around the value, and write the quote inside it as ""`)
	errSpaceBeforeQuote = NewError("file_invalid", "A space stands before the quote at the start of a value: take it out")
	errLoneCR           = NewError("file_invalid", "A CR stands within a value that has no quotes around it: "+
		"lines must end with LF or CRLF, and a value with a line break needs quotes")
	errSecondHeader = NewError("file_invalid", "This row is a second header, as in files that were joined: take it out")
)

// openCSV is an [openFile] that reads the header.
func openCSV(body io.Reader, fields models.Fields, spreadsheet bool, found *notes) (nextRow, error) {
	text, start, err := openText(body)
	if err != nil {
		return nil, err
	}
	isOneLine := bytes.IndexByte(start, '\n') < 0
	isJSON := bytes.HasPrefix(start, []byte("[")) || bytes.HasPrefix(start, []byte("{"))
	f := &csvFile{text: bufio.NewReader(nil), fields: fields, spreadsheet: spreadsheet, found: found}
	f.rows, f.in = newTextRows(text, f.split), csv.NewReader(f.text)
	f.in.Comma, f.in.FieldsPerRecord, f.in.ReuseRecord = f.findDelimiter(start), -1, true
	header, err := f.read()
	for i, title := range header {
		header[i] = strings.TrimSpace(title)
		field := titled(fields, title)
		if field == nil {
			found.IgnoredColumns = append(found.IgnoredColumns, header[i])
		} else if slices.Contains(f.columns, field) {
			return nil, NewError("file_invalid", `The header has the column "%s" twice`, field.Name)
		}
		f.columns = append(f.columns, field)
	}
	missing := slices.DeleteFunc(fields.RequiredNames(), func(name string) bool {
		return slices.Contains(f.columns, fields.Find(name))
	})
	switch {
	case errors.Is(err, io.EOF):
		err = NewError("file_invalid", "The file is empty: its first line must name the columns, %s among them",
			join(fields.RequiredNames(), "and"))
	case isJSON && len(missing) > 0:
		err = errIsJSON
	case isOneLine:
		err = errOneLine
	case f.row.Err != nil:
		err = NewError("file_invalid", "The header cannot be read. %s", f.row.Err)
	case err == nil && len(missing) > 0:
		err = errNoColumns(header, missing)
	}
	return f.next, err
}

func errNoColumns(header, missing []string) error {
	verb, help := "is", ""
	if len(missing) > 1 {
		verb = "are"
	}
	if missing[0] == "name" {
		help = ". First and last names belong together in one column with this title"
	}
	return NewError("file_invalid", "The first line of the file must name the columns: it has %s; %s %s missing%s",
		strings.Join(quoted(header), ", "), join(quoted(missing), "and"), verb, help)
}

// findDelimiter returns which of comma, semicolon and tab finds the most of the required columns in the header, or else
// the most columns.
func (f *csvFile) findDelimiter(start []byte) rune {
	found := func(delimiter rune) int {
		in := csv.NewReader(bytes.NewReader(start))
		in.Comma = delimiter
		titles, _ := in.Read() // of a header that cannot be read, those before the mistake
		columns := len(titles)
		for _, title := range titles {
			if isRequired(titled(f.fields, title)) {
				columns += largestHeader
			}
		}
		return columns
	}
	return slices.MaxFunc([]rune(",;\t"), func(a, b rune) int { return found(a) - found(b) })
}

// titled returns the field that a title means, or nil. What cannot be seen in it does not matter: byte order marks and
// zero-width spaces.
func titled(fields models.Fields, title string) *models.Field {
	name := strings.Map(func(char rune) rune {
		if unicode.IsPrint(char) {
			return unicode.ToLower(char)
		}
		return -1
	}, title)
	if name = strings.TrimSpace(name); name == "e-mail" {
		name = "email"
	}
	return fields.Find(name)
}

func isRequired(field *models.Field) bool { return field != nil && field.Required }

// next is a [nextRow]. An empty value is NULL.
func (f *csvFile) next() (database.ImportRow, error) {
	values, err := f.read()
	if err != nil || f.row.Err != nil {
		return f.row, err
	}
	if len(values) != len(f.columns) {
		err = f.refuse(NewError("file_invalid", "The row has %s, and the header %s",
			count(len(values), "value", "values"), count(len(f.columns), "column", "columns")))
		return f.row, err
	}
	isHeader := true
	for i, field := range f.columns {
		isHeader = isHeader && (!isRequired(field) || isRequired(titled(f.fields, values[i])))
		switch {
		case field == nil:
		case values[i] == "":
			f.row.SetNull(field)
		case f.spreadsheet:
			f.row.Set(field, fromSpreadsheet(values[i]))
		default:
			f.row.Set(field, values[i])
			if f.found.apostrophe == 0 && fromSpreadsheet(values[i]) != values[i] {
				f.found.apostrophe = f.row.Line
			}
		}
	}
	if isHeader {
		err = f.refuse(errSecondHeader)
	}
	return f.row, err
}

// read returns the values of the next row that has any, as they were written, or refuses it.
func (f *csvFile) read() ([]string, error) {
	for {
		row, err := f.rows.next()
		if err != nil {
			return nil, err
		}
		if f.row = (database.ImportRow{Line: f.rows.line}); f.loneCR {
			return nil, f.refuse(errLoneCR)
		}
		// All line breaks in the row are within quotes, and encoding/csv takes one CR before each LF away: a name that
		// contains CRLF must come back as it was exported.
		f.text.Reset(bytes.NewReader(bytes.ReplaceAll(row, []byte("\r\n"), []byte("\r\r\n"))))
		values, err := f.in.Read()
		switch delimiter := string(f.in.Comma); {
		case err == nil:
		case !errors.Is(err, csv.ErrBareQuote):
			return nil, f.refuse(errOpenQuote)
		case strings.Contains(delimiter+string(row), delimiter+` "`):
			return nil, f.refuse(errSpaceBeforeQuote)
		default:
			return nil, f.refuse(errInnerQuote)
		}
		if slices.ContainsFunc(values, func(value string) bool { return strings.TrimSpace(value) != "" }) {
			return values, nil
		}
	}
}

// refuse refuses the row. If it has several lines, a quote that is missing may have made one of them: that refuses the file.
func (f *csvFile) refuse(why error) error {
	if f.row.Err = why; f.rows.lines > f.row.Line {
		row := &database.RefusedRow{Line: f.row.Line, Err: why}
		return &database.RefusedRows{Listed: []*database.RefusedRow{row}, Last: f.rows.lines}
	}
	return nil
}

// split is a [bufio.SplitFunc]. A row ends at a LF outside quotes. If a quote stands elsewhere than around a value,
// encoding/csv refuses the row: it ends with its line, so that no row behind it is taken for a part of it.
func (f *csvFile) split(text []byte, atEOF bool) (advance int, row []byte, err error) {
	f.loneCR = false
	delimiter, columns := byte(f.in.Comma), 1
	quoted, opens := false, true // whether a quote opens a value here, or opens it again: "" is a quote within quotes
	for i, char := range text {
		switch {
		case quoted:
			quoted = char != '"'
			opens = !quoted
		case char == '\n':
			return i + 1, text[:i], nil
		case char == '"' && opens:
			quoted = true
		case char == delimiter:
			if columns++; columns > maxColumns {
				return 0, nil, NewError("file_invalid", "The row in line %d has more than %d values", f.rows.lines+1, maxColumns)
			}
			opens = true
		case char == '"', opens && i > 0 && text[i-1] == '"':
			delimiter, opens = '\n', false // no other value begins in this line
		default:
			opens = false
			f.loneCR = f.loneCR ||
				char == '\r' && !bytes.HasPrefix(bytes.TrimPrefix(text[i+1:], []byte("\r")), []byte("\n"))
		}
	}
	if atEOF && len(text) > 0 {
		return len(text), text, nil
	}
	return 0, nil, nil
}

// quoted returns words in quotes, or the first of them if they are many.
func quoted(words []string) (all []string) {
	for i, word := range words {
		if i == 20 {
			return append(all, "others")
		}
		all = append(all, `"`+Shorten(word)+`"`)
	}
	return all
}

// renderCSV is a [renderUsers]: RFC 4180 as encoding/csv writes it, but with CRLF after each row, and not within values.
func renderCSV(fields models.Fields, spreadsheet bool) (begin, end string, row func(*models.User) []byte) {
	var text bytes.Buffer
	out := csv.NewWriter(&text)
	line := func(values []string) []byte {
		text.Reset()
		_ = out.Write(values) // a buffer takes everything
		out.Flush()
		return append(bytes.TrimSuffix(text.Bytes(), []byte("\n")), "\r\n"...)
	}
	columns, settable := fields.Columns(), fields.Settable()
	if begin = string(line(columns)); spreadsheet {
		begin = byteOrderMark + begin
	}
	values := make([]string, len(columns))
	return begin, "", func(user *models.User) []byte {
		for i, column := range columns {
			values[i] = fields.Text(user, column)
			if spreadsheet && settable.Find(column) != nil {
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

// toSpreadsheet puts an apostrophe before each character that would begin a formula in some spreadsheet, and before a
// value that a spreadsheet would write back in another form.
func toSpreadsheet(value string) string {
	return beforeMarked(value, func(before string) string { return before + "'" })
}

// fromSpreadsheet removes the apostrophes that toSpreadsheet added.
func fromSpreadsheet(value string) string {
	if !strings.Contains(value, "'") {
		return value
	}
	return beforeMarked(value, func(before string) string { return strings.TrimSuffix(before, "'") })
}

// beforeMarked changes the text before a value that would be rewritten, and before each place where a formula would
// begin: at the start of a value, or after a separator. Quotes in between do not count, because a spreadsheet may
// remove them. Apostrophes do not count either, so that fromSpreadsheet leaves as many as there were.
func beforeMarked(value string, change func(before string) string) string {
	var changed []byte
	done := 0
	for cell, next := 0, 0; next >= 0; cell += next + 1 {
		start := len(value) - len(strings.TrimLeft(value[cell:], `"'`))
		if start < len(value) && strings.IndexByte(formulaStarts, value[start]) >= 0 ||
			cell == 0 && rewritten.MatchString(strings.TrimLeft(value, "'")) {
			changed = append(changed, change(value[done:start])...)
			done = start
		}
		next = strings.IndexAny(value[cell:], separators)
	}
	return string(changed) + value[done:]
}

// rewritten matches what a spreadsheet may take for a number, a date or a truth value and write back in another form:
// 012 as 12, 3E4 as 3.00E+04, true as TRUE. It keeps whole numbers of up to 15 digits.
var rewritten = regexp.MustCompile(`^(?:0\d|\d+\D|\d{16}|\.\d|(?i:true|false)$)`)
