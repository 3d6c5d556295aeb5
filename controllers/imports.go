package controllers

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// ImportCSV handles POST /api/users.csv: 200, 400, 408, 413, 415, 422, 500 or 503.
func (a *API) ImportCSV(c *gin.Context) error {
	return a.importFile(c, csvImport, openCSV)
}

// ImportNDJSON handles POST /api/users.ndjson in the same way.
func (a *API) ImportNDJSON(c *gin.Context) error {
	return a.importFile(c, ndjsonImport, openNDJSON)
}

// nextRow returns the next row of a file, or [io.EOF].
type nextRow func() (database.ImportRow, error)

// openFile opens a file. What it finds besides rows it notes at once, or when the rows are read.
type openFile func(file io.Reader, fields models.Fields, spreadsheet bool, found *notes) (nextRow, error)

// notes are what a response says of a file besides its rows.
type notes struct {
	IgnoredColumns []string `json:"ignored_columns"`
	Warnings       []string `json:"warnings,omitempty"` // sentences

	apostrophe, blank, blanks int // the lines of the first row with each, and how many emails have a blank at an end
}

func (n *notes) warn() {
	if n.apostrophe > 0 {
		n.Warnings = append(n.Warnings, fmt.Sprintf("Line %d has an apostrophe as an export with spreadsheet=true adds it: "+
			"import the file with spreadsheet=true to remove it", n.apostrophe))
	}
	if n.blanks > 0 {
		n.Warnings = append(n.Warnings, fmt.Sprintf("%s with a blank (see line %d), and is another one than without it",
			count(n.blanks, "email begins or ends", "emails begin or end"), n.blank))
	}
}

// imported is what an import has done, and for the log how many rows the file has.
type imported struct {
	database.Imported
	Refused *int         `json:"refused,omitempty"` // with on_error=skip
	Rows    []refusedRow `json:"rows,omitzero"`     // the first of them
	notes
	rows int
}

// importFile imports a file and sends the response. It logs when an import starts, because it may take a long time.
func (a *API) importFile(c *gin.Context, parameters parameters, open openFile) error {
	asked, spreadsheet, err := parseImport(c, parameters)
	if err != nil {
		return err
	}
	a.logger.Info("import started", "request_id", c.Writer.Header().Get("X-Request-Id"), "route", c.FullPath(),
		"dry_run", asked.DryRun)
	var done imported
	err = a.store(c, &done, asked, spreadsheet, open)
	done.warn()
	c.Set(LoggedWrite, slog.Group("", "stored", err == nil && !asked.DryRun, "rows", done.rows,
		"created", done.Created, "updated", done.Updated, "skipped", done.Skipped, "deleted", done.Deleted))
	if err != nil {
		return importRefusal(err, a.fields, done.Warnings, wantsProblem(c))
	}
	if skipped := done.Imported.Refused; skipped != nil {
		done.Refused, done.Rows = &skipped.Refused, listed(skipped, a.fields, wantsProblem(c))
	}
	return SendValue(c, http.StatusOK, contentType, done)
}

// store keeps the file as it arrives. Then it reads it twice: to find what is wrong with the whole of it before
// anything is locked, and to import it.
func (a *API) store(c *gin.Context, done *imported, asked database.ImportOptions, spreadsheet bool, open openFile) error {
	file, err := a.temp.create()
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, c.Request.Body); err != nil {
		return unreadable(err)
	}
	rows := func(yield func(database.ImportRow, error) bool) {
		_, err := file.Seek(0, io.SeekStart)
		var next nextRow
		if err == nil {
			done.notes = notes{IgnoredColumns: []string{}}
			next, err = open(file, a.settable, spreadsheet, &done.notes)
		}
		if err != nil {
			yield(database.ImportRow{}, err)
			return
		}
		allRows(next, a.settable, asked.KeepValues, &done.notes)(yield)
	}
	for _, err := range rows {
		if err != nil {
			return err
		}
		done.rows++
	}
	if done.rows == 0 && asked.DeleteMissing {
		return errNoRows
	}
	done.Imported, err = a.users.Import(c.Request.Context(), rows, asked)
	return err
}

// allRows yields the rows of a file, and refuses those that lack a required field: if a user keeps its values, only the email
// must be there. An error ends the sequence.
func allRows(next nextRow, fields models.Fields, keep bool, found *notes) iter.Seq2[database.ImportRow, error] {
	return func(yield func(database.ImportRow, error) bool) {
		for {
			row, err := next()
			if err == io.EOF { //nolint:errorlint // a reader returns it bare
				return
			}
			if lacking := lacking(fields, &row.Profile); row.Err == nil && len(lacking) > 0 {
				if row.IfNew = errRequired(lacking); !keep || row.Email == "" {
					row.Err = row.IfNew
				}
			}
			if row.Err == nil && strings.TrimSpace(row.Email) != row.Email {
				found.blank = cmp.Or(found.blank, row.Line)
				found.blanks++
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// refusedFile says why an import is refused because of the file: only such a refusal has it.
type refusedFile struct {
	Rows         []refusedRow           `json:"rows,omitzero"`
	DeletedUsers []database.DeletedUser `json:"deleted_users,omitzero"` // those that would be deleted
	Warnings     []string               `json:"warnings,omitempty"`
}

type refusedRow struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // only in a problem
}

// importRefusal returns the error that the client sees if an import is refused because of the file.
func importRefusal(err error, fields models.Fields, warnings []string, asProblem bool) error {
	var refused *Error
	many, isMany := errors.AsType[*database.TooManyDeletes](err)
	rows, isRows := errors.AsType[*database.RefusedRows](err)
	switch {
	case isMany:
		refused = NewError("too_many_deletions", "%s not in the file and would be deleted, and max_deletes is %d; nothing was stored",
			count(many.Missing, "user is", "users are"), many.Max)
		rows, refused.DeletedUsers = &database.RefusedRows{}, many.Users
	case isRows && rows.Last > 0:
		refused = NewError("rows_refused", "The row in lines %d to %d cannot be read: nobody knows how many rows are in it; "+
			"nothing was stored", rows.Listed[0].Line, rows.Last)
	case isRows:
		refused = NewError("rows_refused", "%d of %s cannot be imported; nothing was stored",
			rows.Refused, count(rows.All, "row", "rows"))
	default:
		return err
	}
	refused.Rows, refused.Warnings = listed(rows, fields, asProblem), warnings
	return refused
}

// listed returns the first refused rows as the client sees them.
func listed(rows *database.RefusedRows, fields models.Fields, asProblem bool) []refusedRow {
	all := []refusedRow{}
	for _, row := range rows.Listed {
		cause := shownError(valueUsed(row.Err, fields))
		listed := refusedRow{Line: row.Line, Error: cause.Message}
		what, _, _ := strings.Cut(cause.Message, " ") // Email, or the name of another field
		switch {
		case row.Frees:
			listed.Error = fmt.Sprintf("%s is used by the user in line %d, who would get another: put that row first; "+
				"if the two exchange theirs, empty one by an import before this one", what, row.By)
		case row.By > 0:
			listed.Error = fmt.Sprintf("%s is already used by the row in line %d", what, row.By)
		}
		if asProblem {
			listed.Code = cause.code
		}
		all = append(all, listed)
	}
	return all
}

var (
	forSpreadsheet = choice("spreadsheet", "true", "false")
	csvImport      = ndjsonImport.and("an import", forSpreadsheet)
	ndjsonImport   = parameters{"an import", []parameter{
		choice("dry_run", "true", "false"), choice("on_conflict", conflicts...), choice("empty", "keep"),
		choice("on_error", "skip"), choice("on_missing", "delete"), number("max_deletes", 0, 1_000_000_000),
	}}
)

var conflicts = []string{database.ConflictFails: "fail", database.ConflictSkips: "skip", database.ConflictUpdates: "update"}

// parseImport reads the parameters of an import, and refuses a form.
func parseImport(c *gin.Context, parameters parameters) (asked database.ImportOptions, spreadsheet bool, err error) {
	kind, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		return asked, false, NewError("form_refused", // without a host: behind a proxy, only the client knows the URL
			"Send the file itself to the same URL, not a form: curl --data-binary @people%s URL", path.Ext(c.FullPath()))
	}
	sent, err := parameters.parse(c.Request.URL.RawQuery)
	asked.DryRun, spreadsheet = meant(sent, "dry_run", "") == "true", meant(sent, "spreadsheet", "") == "true"
	asked.OnConflict = database.Conflict(slices.Index(conflicts, meant(sent, "on_conflict", "fail")))
	asked.KeepValues, asked.SkipRefused, asked.DeleteMissing = sent.has("empty"), sent.has("on_error"), sent.has("on_missing")
	asked.MaxDeletes = meant(sent, "max_deletes", 0)
	switch {
	case err != nil:
	case asked.KeepValues && asked.OnConflict != database.ConflictUpdates:
		err = NewError("parameter_invalid", "The parameter empty must come with on_conflict=update: only a user who exists keeps a value")
	case asked.DeleteMissing && asked.OnConflict != database.ConflictUpdates:
		err = NewError("parameter_invalid",
			"The parameter on_missing must come with on_conflict=update: the table becomes what the file says")
	case asked.DeleteMissing && asked.SkipRefused:
		err = NewError("parameter_invalid",
			"The parameter on_error cannot come with on_missing: it would delete the users whose rows are refused")
	case asked.DeleteMissing && !sent.has("max_deletes"):
		err = NewError("parameter_invalid",
			"The parameter on_missing must come with max_deletes: how many users may be deleted at most")
	case !asked.DeleteMissing && sent.has("max_deletes"):
		err = NewError("parameter_invalid", "The parameter max_deletes must come with on_missing=delete")
	case compression.MatchString(c.GetHeader("Content-Encoding")):
		err = errCompressedFile
	}
	return asked, spreadsheet, err
}

const (
	largestHeader = 64 << 10 // in bytes
	maxColumns    = 1 << 14  // as many as a spreadsheet has

	// largestRow is the maximum size of a row, in bytes. It is larger than the body that creates one user, so that
	// every user fits, however the format writes it: in JSON a line separator takes three bytes, or six as an escape.
	largestRow = 4 << 20
)

// The errors about a whole file.
var (
	errNoRows  = NewError("file_invalid", "The file has no rows: on_missing=delete would delete every user")
	errOneLine = NewError("file_invalid", "The file is one line, or its first line is too long. "+
		"Lines must end with LF or CRLF; send it with curl --data-binary, because curl -d takes the line breaks out")
	errCompressedFile = NewError("file_invalid", "The file is compressed: send it uncompressed")
	errLDIF           = NewError("file_invalid", "The file is LDIF: export the directory as CSV instead")
	errNotLines       = NewError("file_invalid", "The file must have one JSON object per line: "+
		"jq -c '.[]' FILE makes such lines of an array, and jq -c . FILE of objects on several lines. Send CSV to users.csv")
	errIsJSON = NewError("file_invalid", "The file is JSON, and not CSV: send it to users.ndjson, "+
		"with one object per line, as jq -c '.[]' makes them of an array")
)

func errNotUTF8(line int) error {
	return NewError("file_invalid", "The file is not text in UTF-8 (see line %d): save it as UTF-8, "+
		`which Excel calls "CSV UTF-8 (Comma delimited)"`, line)
}

// otherKinds are the first bytes of files that are neither CSV nor NDJSON, and what to do about each.
var otherKinds = []struct {
	magic string
	error error
}{
	{gzipMagic, errCompressedFile},
	{"PK\x03\x04", NewError("file_invalid", "The file is a workbook or a zip file, and not text: save it as CSV")},
	{"\xd0\xcf\x11\xe0", NewError("file_invalid", "The file is a workbook, and not text: save it as CSV")},
	{"BEGIN:VCARD", NewError("file_invalid", "The file is a vCard: export the address book as CSV instead")},
	{"dn:", errLDIF}, {"version: 1", errLDIF}, {"# extended LDIF", errLDIF},
}

// openText returns the text of a file without byte order marks, and what is known of its start behind blanks.
func openText(file io.Reader) (text *bufio.Reader, start []byte, err error) {
	text = bufio.NewReaderSize(file, largestHeader)
	start, err = text.Peek(largestHeader)
	for bytes.HasPrefix(start, []byte(byteOrderMark)) {
		_, _ = text.Discard(len(byteOrderMark)) // Peek has read them
		start, err = text.Peek(largestHeader)
	}
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	start = bytes.TrimLeft(start, space)
	for _, kind := range otherKinds {
		if bytes.HasPrefix(start, []byte(kind.magic)) {
			return nil, nil, kind.error
		}
	}
	if line, _, _ := bytes.Cut(start, []byte("\n")); bytes.IndexByte(line, 0) >= 0 { // UTF-16
		return nil, nil, errNotUTF8(1)
	}
	return text, start, nil
}

type textRows struct {
	in    *bufio.Scanner
	line  int // where the last row begins
	lines int // how many were read
}

// newTextRows splits a text into rows without the LF at their ends.
func newTextRows(text io.Reader, split bufio.SplitFunc) *textRows {
	rows := &textRows{in: bufio.NewScanner(text)}
	rows.in.Buffer(nil, largestRow+len("\n"))
	rows.in.Split(func(text []byte, atEOF bool) (int, []byte, error) {
		if atEOF {
			text = bytes.TrimSuffix(text, []byte("\x1a")) // Ctrl-Z, with which Windows' copy ends a file
		}
		return split(text, atEOF)
	})
	return rows
}

// next returns the next row that is not blank, or [io.EOF]. A line may end with CR CR LF: Python's csv writes CRLF, and
// on Windows text gets a CR before each LF.
func (r *textRows) next() ([]byte, error) {
	for r.in.Scan() && r.in.Err() == nil {
		row := r.in.Bytes()
		first := r.lines + 1
		r.lines = first + bytes.Count(bytes.TrimSuffix(row, []byte("\n")), []byte("\n")) // a row that is not closed has the last LF
		row = bytes.TrimRight(row, "\r")
		row = bytes.TrimLeft(row, byteOrderMark) // of a file that was joined behind another
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		if !utf8.Valid(row) {
			return nil, errNotUTF8(first)
		}
		r.line = first
		return row, nil
	}
	err := r.in.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = NewError("file_invalid",
			"The row in line %d is longer than 4 MiB: in CSV, a quote that ends a value may be missing", r.lines+1)
		if r.line == 0 {
			err = errOneLine
		}
	}
	return nil, cmp.Or(err, io.EOF)
}
