package controllers

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// ExportCSV answers GET and HEAD /api/users.csv: 200, 400 or 500.
func (f *Files) ExportCSV(c *gin.Context) error {
	asked, err := parseExport(c.Request.URL.RawQuery, true)
	if err != nil {
		return err
	}
	out := &csvText{spreadsheet: asked.spreadsheet}
	out.begin()
	return f.export(c, asked.search, "csv", "text/csv; charset=utf-8", &out.Buffer, out.add)
}

// ExportNDJSON answers GET and HEAD /api/users.ndjson in the same way.
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

// export sends the users that were asked for, as they are at one moment. A piece of text is sent when it has grown
// large; an answer that is short is sent when all of it is known to be there.
func (f *Files) export(c *gin.Context, asked search, ending, contentType string, text *bytes.Buffer, add func(*models.User)) error {
	last, err := f.announce(c, asked)
	if err != nil {
		return err
	}
	revalidate(c)
	c.Header("Content-Type", contentType)
	c.Header("Content-Disposition",
		`attachment; filename="users-`+time.Now().UTC().Format(time.DateOnly)+"."+ending+`"`)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	users := f.users.Select(c.Request.Context(), asked.Query)
	if last != nil {
		users = until(*last, asked.Descending, users)
	}
	for user, err := range users {
		if err != nil {
			return err
		}
		if add(&user); text.Len() < pieceSize {
			continue
		}
		if _, err := text.WriteTo(c.Writer); err != nil {
			return err
		}
	}
	_, err = text.WriteTo(c.Writer)
	return err
}

// announce sends how many users match, and where those come that a limit leaves out. It returns the last user within
// the limit, when others follow.
func (f *Files) announce(c *gin.Context, asked search) (last *int64, err error) {
	ctx := c.Request.Context()
	if asked.count {
		total, err := f.users.Count(ctx, asked.Query)
		if err != nil {
			return nil, err
		}
		c.Header("X-Total-Count", strconv.FormatInt(total, 10))
	}
	if asked.Limit == 0 {
		return nil, nil
	}
	more, read, id := asked.Query, 0, int64(0)
	more.Limit++
	for user, err := range f.users.Select(ctx, more) {
		if err != nil {
			return nil, err
		}
		if read == asked.Limit {
			c.Header("Link", "<"+asked.next(id)+`>; rel="next"`)
			return &id, nil
		}
		read, id = read+1, user.ID
	}
	return nil, nil
}

// exportRequest is what a request asks of an export: a list's parameters, and one more.
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
		all.mayBe = func(name string) string {
			if name == "spreadsheet" {
				return "true or false"
			}
			return list.mayBe(name)
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
	asked.Snapshot = true
	return asked, err
}

// csvText is users as CSV: RFC 4180, byte for byte as encoding/csv writes it, but with CRLF only behind each row and not
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
