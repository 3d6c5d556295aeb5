package controllers

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/database"
	"users-api/models"
)

// List handles GET and HEAD /api/users: 200, 304, 400, 500 or 503. Without parameters it is the specification's list,
// which comes from memory if it fits there.
func (a *API) List(c *gin.Context) error {
	if c.Request.URL.RawQuery == "" {
		isCached, err := a.users.List(c.Request.Context(), func(list *database.List) error {
			Revalidate(c)
			c.Header("Changes-Cursor", list.Cursor)
			if notModified(c, `"`+list.Version+`"`) {
				return nil
			}
			return send(c, http.StatusOK, contentType, list.JSON)
		})
		if isCached || err != nil {
			return err
		}
	}
	return a.sendUsers(c, a.list, format{contentType: contentType, render: renderJSON})
}

// ExportCSV handles GET and HEAD /api/users.csv: 200, 206, 304, 400, 416, 500 or 503.
func (a *API) ExportCSV(c *gin.Context) error {
	return a.sendUsers(c, a.csvList, format{"text/csv; charset=utf-8", "csv", renderCSV})
}

// ExportNDJSON handles GET and HEAD /api/users.ndjson in the same way.
func (a *API) ExportNDJSON(c *gin.Context) error {
	return a.sendUsers(c, a.list, format{"application/x-ndjson", "ndjson", renderNDJSON})
}

// format is how users are written.
type format struct {
	contentType string
	ending      string // of the name of the file; "" for JSON, which is no file
	render      renderUsers
}

// renderUsers returns what stands before and after users, and a function that returns one of them, valid until the next.
type renderUsers func(fields models.Fields, spreadsheet bool) (begin, end string, row func(*models.User) []byte)

func renderJSON(fields models.Fields, _ bool) (begin, end string, row func(*models.User) []byte) {
	var text []byte
	separator := ""
	return "[", "]", func(user *models.User) []byte {
		text = fields.AppendUser(append(text[:0], separator...), user)
		separator = ","
		return text
	}
}

func renderNDJSON(fields models.Fields, _ bool) (begin, end string, row func(*models.User) []byte) {
	var line []byte
	return "", "", func(user *models.User) []byte {
		line = append(fields.AppendUser(line[:0], user), '\n')
		return line
	}
}

// sendUsers sends the requested users, as of one moment: first it writes all of them. It reads one user more than the
// limit, to know whether others follow.
func (a *API) sendUsers(c *gin.Context, parameters parameters, as format) error {
	asked, err := parseList(parameters, c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	query := asked.Query
	if query.Limit > 0 {
		query.Limit++
	}
	var spool *spool
	defer func() { spool.close() }()
	users, last, more := 0, models.User{}, false
	err = a.users.Query(c.Request.Context(), query, func(result database.Result) error {
		spool.close() // of a try before
		spool, users, more = a.newSpool(c.Request.Context()), 0, false
		begin, end, row := as.render(a.fields, meant(asked.sent, "spreadsheet", "") == "true")
		_, _ = io.WriteString(spool, begin) // into memory
		c.Header("Changes-Cursor", result.Cursor)
		if query.Count {
			c.Header("X-Total-Count", strconv.FormatInt(result.Total, 10))
		}
		for user, err := range result.Users {
			if err != nil {
				return err
			}
			if more = users+1 == query.Limit; more {
				break
			}
			users, last = users+1, *user
			if _, err := spool.Write(row(user)); err != nil {
				return err
			}
		}
		_, err := io.WriteString(spool, end)
		return err
	})
	if err != nil {
		return err
	}
	if more { // the tag is that of the Link, too: a 304 could not take back the one that a client has
		c.Header("Link", asked.next(last.Place()))
		_, _ = spool.sum.Write([]byte{'>'})
	}
	content, size, tag, err := spool.content()
	if err != nil {
		return err
	}
	Revalidate(c)
	if as.ending != "" {
		c.Header("Content-Type", as.contentType)
		c.Header("Content-Disposition", `attachment; filename="users-`+time.Now().UTC().Format(time.DateOnly)+"."+as.ending+`"`)
		return sendFile(c, tag, content)
	}
	if users == 1 && !more { // a user who was found can be changed with If-Match
		tag = entityTag(a.fields.AppendUser(nil, &last))
	}
	if notModified(c, tag) {
		return nil
	}
	return sendFrom(c, http.StatusOK, as.contentType, content, size)
}

// sendFile sends a file, or the rest of it to a client that was cut off and goes on.
func sendFile(c *gin.Context, tag string, content io.ReadSeeker) error {
	c.Header("ETag", tag)
	// A client does not change a file, and ServeContent would answer without an error object.
	c.Request.Header.Del("If-Match")
	response := &fileResponse{ResponseWriter: c.Writer}
	http.ServeContent(response, c.Request, "", time.Time{}, content)
	return response.err
}

// fileResponse is the response that [http.ServeContent] sends. It keeps the connection's error, which that ignores.
type fileResponse struct {
	http.ResponseWriter
	err error
}

func (r *fileResponse) Write(data []byte) (n int, err error) {
	n, r.err = r.ResponseWriter.Write(data)
	return n, r.err
}
