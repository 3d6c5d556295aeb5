package controllers

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Files handles the endpoints that import and export users as files.
type Files struct {
	users         models.Users
	fields        models.Fields
	logger        *slog.Logger
	list, csvList parameters // of exports
}

// NewFiles returns the handlers. An import is logged when it starts and when it ends, because it may take a long time.
func NewFiles(users models.Users, fields models.Fields, logger *slog.Logger) *Files {
	list := listParameters(fields)
	return &Files{users, fields, logger, list, list.and("an export", spreadsheet)}
}

// ImportCSV handles POST /api/users.csv: 200, 400, 408, 413, 415, 422, 500 or 503.
func (f *Files) ImportCSV(c *gin.Context) error {
	asked, err := parseImport(c, csvImport)
	if err != nil {
		return err
	}
	file, err := openCSV(c.Request.Body, f.fields, asked.spreadsheet)
	if err != nil {
		return err
	}
	return f.store(c, asked.ImportOptions, file.next, file.ignored)
}

// ImportNDJSON handles POST /api/users.ndjson in the same way.
func (f *Files) ImportNDJSON(c *gin.Context) error {
	asked, err := parseImport(c, ndjsonImport)
	if err != nil {
		return err
	}
	file, err := openNDJSON(c.Request.Body, f.fields)
	if err != nil {
		return err
	}
	return f.store(c, asked.ImportOptions, file.next, []string{})
}

// imported is the response to an import.
type imported struct {
	models.Imported
	IgnoredColumns []string `json:"ignored_columns"`
}

// store imports the rows of a file and sends the response.
func (f *Files) store(c *gin.Context, options models.ImportOptions, next func() (models.ImportRow, error), ignored []string) error {
	log := f.logger.With("request_id", c.Writer.Header().Get("X-Request-Id"))
	log.Info("import started", "route", c.FullPath(), "dry_run", options.DryRun)
	begun, file := time.Now(), &arriving{next: next}
	done, err := f.users.Import(c.Request.Context(), file.all, options)
	log.Info("import ended", "stored", err == nil && !options.DryRun, "rows", file.rows,
		"created", done.Created, "updated", done.Updated, "skipped", done.Skipped, "deleted", done.Deleted,
		"receiving", file.ended.Sub(begun), "storing", time.Since(file.ended))
	if err != nil {
		return importRefusal(err)
	}
	return sendValue(c, http.StatusOK, contentType, imported{done, ignored})
}

// arriving is a file while it arrives: how many of its rows have, and when it ended.
type arriving struct {
	next  func() (models.ImportRow, error)
	rows  int
	ended time.Time
}

// all yields the rows. An error that is not of one row ends the sequence.
func (a *arriving) all(yield func(models.ImportRow, error) bool) {
	defer func() { a.ended = time.Now() }()
	for {
		row, err := a.next()
		if err == io.EOF { //nolint:errorlint // a reader returns it bare
			return
		}
		a.rows++
		if _, isRow := errors.AsType[*models.RowError](err); !yield(row, err) || err != nil && !isRow {
			return
		}
	}
}

// refusedRow is why a row of a file is refused, as the client sees it.
type refusedRow struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// importRefusal returns the error that the client sees if an import is refused because of the file.
func importRefusal(err error) error {
	if many, ok := errors.AsType[*models.TooManyDeletes](err); ok {
		return &Error{
			Status: http.StatusUnprocessableEntity, Rows: []refusedRow{},
			Message: fmt.Sprintf("%s not in the file and would be deleted, and max_deletes is %d; nothing was stored",
				are(many.Missing), many.Max),
		}
	}
	refused, ok := errors.AsType[*models.RefusedRows](err)
	if !ok {
		return err
	}
	rows := make([]refusedRow, len(refused.Listed))
	for i, row := range refused.Listed {
		rows[i] = refusedRow{row.Line, rowRefusal(row.Err)}
	}
	return &Error{
		Status: http.StatusUnprocessableEntity, Rows: rows,
		Message: fmt.Sprintf("%d of %s cannot be imported; nothing was stored", refused.Refused, count(refused.All,
			"row")),
	}
}

func are(users int) string {
	if users == 1 {
		return "1 user is"
	}
	return fmt.Sprintf("%d users are", users)
}

// rowRefusal returns the error message that the client sees for one row.
func rowRefusal(err error) string {
	switch {
	case errors.Is(err, models.ErrRepeated):
		return "Email is already used by an earlier row of the file"
	case isDuplicate(err):
		return errEmailUsed.Message
	default:
		return refusal(err).Message
	}
}

// The parameters of imports.
var (
	csvImport    = ndjsonImport.and("an import", spreadsheet)
	ndjsonImport = parameters{"an import", []parameter{
		whether("dry_run", func(asked *request) *bool { return &asked.DryRun }),
		{"on_conflict", "fail, skip or update", func(asked *request, value string) bool {
			at := slices.Index(conflicts, value)
			asked.OnConflict = models.Conflict(at)
			return at >= 0
		}},
		{"on_missing", "delete", func(asked *request, value string) bool {
			asked.DeleteMissing = true
			return value == "delete"
		}},
		{"max_deletes", "a whole number from 0 to 1000000000", func(asked *request, value string) bool {
			number, ok := parseID(value)
			asked.MaxDeletes = int(number)
			return ok && number >= 0 && number <= 1_000_000_000
		}},
	}}
)

var conflicts = []string{models.ConflictFails: "fail", models.ConflictSkips: "skip", models.ConflictUpdates: "update"}

// parseImport reads the parameters of an import, and refuses a form.
func parseImport(c *gin.Context, parameters parameters) (request, error) {
	kind, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		return request{}, errForm(c.FullPath())
	}
	asked, err := parameters.parse(c.Request.URL.RawQuery)
	switch {
	case err != nil:
	case asked.DeleteMissing && asked.OnConflict != models.ConflictUpdates:
		err = badRequest("The parameter on_missing must come with on_conflict=update: the table becomes what the file says")
	case asked.DeleteMissing && !asked.has("max_deletes"):
		err = badRequest("The parameter on_missing must come with max_deletes: how many users may be deleted at most")
	case !asked.DeleteMissing && asked.has("max_deletes"):
		err = badRequest("The parameter max_deletes must come with on_missing=delete")
	}
	return asked, err
}

// errForm does not name a host: behind a proxy, only the client knows the URL.
func errForm(route string) *Error {
	return &Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Send the file itself to the same URL, not a form: curl --data-binary @people" + path.Ext(route) + " URL",
	}
}
