package controllers

import (
	"bytes"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// ExportCSV handles GET and HEAD /api/users.csv: 200, 400, 500 or 503.
func (f *Files) ExportCSV(c *gin.Context) error {
	asked, err := parseExport(c.Request.URL.RawQuery, true)
	if err != nil {
		return err
	}
	out := &csvText{spreadsheet: asked.spreadsheet}
	out.begin()
	return f.export(c, asked.search, "csv", "text/csv; charset=utf-8", &out.Buffer, out.add)
}

// ExportNDJSON handles GET and HEAD /api/users.ndjson in the same way.
func (f *Files) ExportNDJSON(c *gin.Context) error {
	asked, err := parseExport(c.Request.URL.RawQuery, false)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	return f.export(c, asked.search, "ndjson", "application/x-ndjson", &out, func(user *models.User) {
		out.Write(append(models.AppendUser(out.AvailableBuffer(), user), '\n'))
	})
}

// export sends the requested users as a consistent snapshot, with the headers that describe them. It sends a chunk of
// text once the chunk is large. A short response is sent only when all of it has been read.
func (f *Files) export(c *gin.Context, asked search, ending, contentType string, text *bytes.Buffer, add func(*models.User)) error {
	query := asked.Query
	query.Count = asked.count
	return f.users.Export(c.Request.Context(), query, func(export models.Export) error {
		if asked.count {
			c.Header("X-Total-Count", strconv.FormatInt(export.Total, 10))
		}
		if export.Last != nil {
			c.Header("Link", "<"+asked.next(*export.Last)+`>; rel="next"`)
		}
		revalidate(c)
		c.Header("Content-Type", contentType)
		c.Header("Content-Disposition",
			`attachment; filename="users-`+time.Now().UTC().Format(time.DateOnly)+"."+ending+`"`)
		if c.Request.Method == http.MethodHead {
			return nil
		}
		return sendFile(c, export.Users, text, add)
	})
}

// sendFile sends users as a file. add appends a user to text.
func sendFile(c *gin.Context, users iter.Seq2[models.User, error], text *bytes.Buffer, add func(*models.User)) error {
	for user, err := range users {
		if err != nil {
			return err
		}
		if add(&user); text.Len() < chunkSize {
			continue
		}
		if _, err := text.WriteTo(c.Writer); err != nil {
			return err
		}
	}
	_, err := text.WriteTo(c.Writer)
	return err
}

// exportRequest holds the parameters of an export: those of a list, and one more.
type exportRequest struct {
	search
	spreadsheet bool
}

func parseExport(query string, takesSpreadsheet bool) (exportRequest, error) {
	var asked exportRequest
	list := asked.parameters()
	all := list
	if takesSpreadsheet {
		all.takes = "an export takes email, q, limit, after, order, count and spreadsheet"
		all.expects = func(name string) string {
			if name == "spreadsheet" {
				return "true or false"
			}
			return list.expects(name)
		}
		all.set = func(name, value string) (ok bool) {
			if name != "spreadsheet" {
				return list.set(name, value)
			}
			asked.spreadsheet, ok = isTrue(value)
			return ok
		}
	}
	var err error
	asked.given, err = all.parse(query)
	return asked, err
}

// csvText is users as CSV: RFC 4180, byte for byte as encoding/csv writes it, but with CRLF only after each row and not
// within values, and with more quotes for spreadsheets.
type csvText struct {
	bytes.Buffer
	spreadsheet bool
}

func (t *csvText) begin() {
	if t.spreadsheet {
		t.WriteString("\xef\xbb\xbf")
	}
	t.writeRow("id", "name", "email", "created_at")
}

func (t *csvText) add(user *models.User) {
	t.writeRow(strconv.FormatInt(user.ID, 10), user.Name, user.Email, user.CreatedAt)
}

func (t *csvText) writeRow(values ...string) {
	for i, value := range values {
		if i > 0 {
			t.WriteByte(',')
		}
		t.writeValue(value)
	}
	t.WriteString("\r\n")
}

func (t *csvText) writeValue(value string) {
	special := ",\"\r\n"
	if t.spreadsheet {
		value, special = toSpreadsheet(value), "\""+separators
	}
	first, _ := utf8.DecodeRuneInString(value)
	if value != `\.` && !unicode.IsSpace(first) && !strings.ContainsAny(value, special) {
		t.WriteString(value)
		return
	}
	t.WriteByte('"')
	t.WriteString(strings.ReplaceAll(value, `"`, `""`))
	t.WriteByte('"')
}
