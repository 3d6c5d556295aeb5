package controllers

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// ImportCSV handles POST /api/users.csv: 200, 400, 408, 413, 415, 422, 500 or 503.
func (u *Users) ImportCSV(c *gin.Context) error {
	asked, err := parseImport(c, csvImport)
	if err != nil {
		return err
	}
	file, err := openCSV(c.Request.Body, u.fields, asked.spreadsheet)
	if err != nil {
		return err
	}
	return u.store(c, asked.ImportOptions, &arriving{next: file.next}, file.ignored)
}

// ImportNDJSON handles POST /api/users.ndjson in the same way.
func (u *Users) ImportNDJSON(c *gin.Context) error {
	asked, err := parseImport(c, ndjsonImport)
	if err != nil {
		return err
	}
	file, err := openNDJSON(c.Request.Body, u.fields)
	if err != nil {
		return err
	}
	return u.store(c, asked.ImportOptions, &arriving{next: file.next}, []string{})
}

type imported struct {
	models.Imported
	IgnoredColumns []string `json:"ignored_columns"`
}

// store imports the rows of a file and sends the response. It logs when an import starts and when it ends, because it may
// take a long time.
func (u *Users) store(c *gin.Context, options models.ImportOptions, file *arriving, ignored []string) error {
	log := u.logger.With("request_id", c.Writer.Header().Get("X-Request-Id"))
	log.Info("import started", "route", c.FullPath(), "dry_run", options.DryRun)
	begun := time.Now()
	done, err := u.users.Import(c.Request.Context(), file.all, options)
	log.Info("import ended", "stored", err == nil && !options.DryRun, "rows", file.rows,
		"created", done.Created, "updated", done.Updated, "skipped", done.Skipped, "deleted", done.Deleted,
		"receiving", file.ended.Sub(begun), "storing", time.Since(file.ended))
	if err != nil {
		return importRefusal(err, wantsProblem(c))
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

// refusedFile says why an import is refused because of the file: only such a refusal has it.
type refusedFile struct {
	Rows         []refusedRow         `json:"rows,omitzero"`
	DeletedUsers []models.DeletedUser `json:"deleted_users,omitzero"` // those that would be deleted
}

type refusedRow struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
	Code  string `json:"code,omitempty"` // only in a problem
}

// importRefusal returns the error that the client sees if an import is refused because of the file.
func importRefusal(err error, asProblem bool) error {
	var refusal *Error
	why := refusedFile{Rows: []refusedRow{}}
	if many, ok := errors.AsType[*models.TooManyDeletes](err); ok {
		refusal = newError(tooManyDeletions,
			"%s not in the file and would be deleted, and max_deletes is %d; nothing was stored",
			count(many.Missing, "user is", "users are"), many.Max)
		why.DeletedUsers = many.Users
	} else if refused, ok := errors.AsType[*models.RefusedRows](err); ok {
		refusal = newError(rowsRefused, "%d of %s cannot be imported; nothing was stored",
			refused.Refused, count(refused.All, "row", "rows"))
		for _, row := range refused.Listed {
			why.Rows = append(why.Rows, refuseRow(row, asProblem))
		}
	} else {
		return err
	}
	refusal.refusedFile = why
	return refusal
}

func refuseRow(row *models.RowError, asProblem bool) refusedRow {
	refusal := rowRefusal(row.Err)
	if !asProblem {
		return refusedRow{Line: row.Line, Error: refusal.Message}
	}
	return refusedRow{row.Line, refusal.Message, Codes[refusal.code].Word}
}

func rowRefusal(err error) *Error {
	switch {
	case errors.Is(err, models.ErrRepeated):
		return errRepeated
	case isDuplicate(err):
		return errEmailUsed
	default:
		return refusal(err)
	}
}

var (
	csvImport    = ndjsonImport.and("an import", spreadsheet)
	ndjsonImport = parameters{"an import", []parameter{
		choice("dry_run", func(asked *request, at int) { asked.DryRun = at == 0 }, "true", "false"),
		choice("on_conflict", func(asked *request, at int) { asked.OnConflict = models.Conflict(at) }, conflicts...),
		choice("on_missing", func(asked *request, at int) { asked.DeleteMissing = true }, "delete"),
		number("max_deletes", 0, 1_000_000_000, func(asked *request, value int) { asked.MaxDeletes = value }),
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
		err = newError(parameterInvalid,
			"The parameter on_missing must come with on_conflict=update: the table becomes what the file says")
	case asked.DeleteMissing && !asked.has("max_deletes"):
		err = newError(parameterInvalid,
			"The parameter on_missing must come with max_deletes: how many users may be deleted at most")
	case !asked.DeleteMissing && asked.has("max_deletes"):
		err = newError(parameterInvalid, "The parameter max_deletes must come with on_missing=delete")
	}
	return asked, err
}

// errForm does not name a host: behind a proxy, only the client knows the URL.
func errForm(route string) *Error {
	return newError(formRefused,
		"Send the file itself to the same URL, not a form: curl --data-binary @people%s URL", path.Ext(route))
}
