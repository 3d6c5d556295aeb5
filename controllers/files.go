package controllers

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// Files handles the endpoints that import and export users as files.
type Files struct {
	users  models.Users
	logger *slog.Logger
}

// NewFiles returns the handlers. An import is logged when it starts and when it ends, because it may take a long time.
func NewFiles(users models.Users, logger *slog.Logger) *Files { return &Files{users, logger} }

// ImportCSV handles POST /api/users.csv: 200, 400, 408, 413, 415, 422, 500 or 503.
func (f *Files) ImportCSV(c *gin.Context) error {
	sent := importRequest{takesSpreadsheet: true}
	if err := sent.bind(c); err != nil {
		return err
	}
	file, err := openCSV(c.Request.Body, sent.spreadsheet)
	if err != nil {
		return err
	}
	return f.store(c, sent.ImportOptions, file.rows(), file.ignored)
}

// ImportNDJSON handles POST /api/users.ndjson in the same way.
func (f *Files) ImportNDJSON(c *gin.Context) error {
	var sent importRequest
	if err := sent.bind(c); err != nil {
		return err
	}
	file, err := openNDJSON(c.Request.Body)
	if err != nil {
		return err
	}
	return f.store(c, sent.ImportOptions, file.rows(), []string{})
}

// imported is the response to an import.
type imported struct {
	models.Imported
	IgnoredColumns []string `json:"ignored_columns"`
}

// store imports the rows of a file and sends the response.
func (f *Files) store(c *gin.Context, options models.ImportOptions, rows iter.Seq2[models.ImportRow, error], ignored []string) error {
	log := f.logger.With("request_id", c.Writer.Header().Get("X-Request-Id"))
	log.Info("import started", "route", c.FullPath(), "dry_run", options.DryRun)
	begun, received := time.Now(), &received{}
	done, err := f.users.Import(c.Request.Context(), received.watch(rows), options)
	log.Info("import ended", "stored", err == nil && !options.DryRun, "rows", received.rows,
		"created", done.Created, "updated", done.Updated, "skipped", done.Skipped, "deleted", done.Deleted,
		"receiving", received.ended.Sub(begun), "storing", time.Since(received.ended))
	if err != nil {
		return importRefusal(err)
	}
	return sendValue(c, http.StatusOK, contentType, imported{done, ignored})
}

// received tracks how much of a file has arrived, and when it ended.
type received struct {
	rows  int
	ended time.Time
}

func (r *received) watch(rows iter.Seq2[models.ImportRow, error]) iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		defer func() { r.ended = time.Now() }()
		for row, err := range rows {
			r.rows++
			if !yield(row, err) {
				return
			}
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

// importRequest holds the parameters of an import.
type importRequest struct {
	models.ImportOptions
	spreadsheet      bool
	takesSpreadsheet bool
	maxGiven         bool
}

// bind reads the parameters, and refuses a form.
func (r *importRequest) bind(c *gin.Context) error {
	kind, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type"))
	if strings.HasPrefix(kind, "multipart/") {
		return errForm(c.FullPath())
	}
	takes := "an import takes dry_run, on_conflict, on_missing and max_deletes"
	if r.takesSpreadsheet {
		takes = "an import takes dry_run, on_conflict, on_missing, max_deletes and spreadsheet"
	}
	if _, err := (parameters{takes, r.expects, r.set}).parse(c.Request.URL.RawQuery); err != nil {
		return err
	}
	switch {
	case r.DeleteMissing && r.OnConflict != models.ConflictUpdates:
		return badRequest("The parameter on_missing must come with on_conflict=update: the table becomes what the file says")
	case r.DeleteMissing && !r.maxGiven:
		return badRequest("The parameter on_missing must come with max_deletes: how many users may be deleted at most")
	case !r.DeleteMissing && r.maxGiven:
		return badRequest("The parameter max_deletes must come with on_missing=delete")
	}
	return nil
}

// errForm does not name a host: behind a proxy, only the client knows the URL.
func errForm(route string) *Error {
	return &Error{
		Status:  http.StatusUnsupportedMediaType,
		Message: "Send the file itself to the same URL, not a form: curl --data-binary @people" + path.Ext(route) + " URL",
	}
}

// expects describes the valid values of a parameter. It returns "" for an unknown one.
func (r *importRequest) expects(name string) string {
	switch name {
	case "dry_run":
		return "true or false"
	case "on_conflict":
		return "fail, skip or update"
	case "on_missing":
		return "delete"
	case "max_deletes":
		return "a whole number from 0 to 1000000000"
	case "spreadsheet":
		if r.takesSpreadsheet {
			return "true or false"
		}
	}
	return ""
}

// set stores the value of a parameter, and reports whether it is valid.
func (r *importRequest) set(name, value string) (ok bool) {
	switch name {
	case "dry_run":
		r.DryRun, ok = isTrue(value)
	case "on_conflict":
		r.OnConflict, ok = map[string]models.Conflict{
			"fail": models.ConflictFails, "skip": models.ConflictSkips, "update": models.ConflictUpdates,
		}[value], value == "fail" || value == "skip" || value == "update"
	case "on_missing":
		r.DeleteMissing, ok = true, value == "delete"
	case "max_deletes":
		number, isNumber := parseID(value)
		r.MaxDeletes, r.maxGiven, ok = int(number), true, isNumber && number >= 0 && number <= 1_000_000_000
	case "spreadsheet":
		r.spreadsheet, ok = isTrue(value)
	}
	return ok
}

func isTrue(value string) (isTrue, ok bool) {
	return value == "true", value == "true" || value == "false"
}
