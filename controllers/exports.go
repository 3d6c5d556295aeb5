package controllers

import (
	"bytes"
	"cmp"
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
func (u *Users) ExportCSV(c *gin.Context) error {
	asked, err := u.csvList.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	out := &csvText{fields: u.fields, spreadsheet: asked.spreadsheet}
	out.begin()
	return u.export(c, asked, "csv", "text/csv; charset=utf-8", &out.Buffer, out.add)
}

// ExportNDJSON handles GET and HEAD /api/users.ndjson in the same way.
func (u *Users) ExportNDJSON(c *gin.Context) error {
	asked, err := u.list.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	return u.export(c, asked, "ndjson", "application/x-ndjson", &out, func(user *models.User) {
		out.Write(append(u.fields.AppendUser(out.AvailableBuffer(), user), '\n'))
	})
}

// export sends the requested users as a consistent snapshot, with the headers that describe them. It sends a chunk of
// text once the chunk is large. A short response is sent only when all of it has been read.
func (u *Users) export(
	c *gin.Context, asked request, ending, contentType string, text *bytes.Buffer, add func(*models.User),
) error {
	return u.users.Export(c.Request.Context(), asked.Query, func(export models.Export) error {
		if asked.Count {
			c.Header("X-Total-Count", strconv.FormatInt(export.Total, 10))
		}
		if export.Last != nil {
			c.Header("Link", "<"+asked.next(*export.Last)+`>; rel="next"`)
		}
		revalidate(c)
		setCursor(c, export.Cursor)
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
		if add(&user); text.Len() < models.ChunkBytes {
			continue
		}
		if _, err := text.WriteTo(c.Writer); err != nil {
			return err
		}
	}
	_, err := text.WriteTo(c.Writer)
	return err
}

// csvText is users as CSV: RFC 4180, byte for byte as encoding/csv writes it, but with CRLF only after each row and not
// within values, and with more quotes for spreadsheets.
type csvText struct {
	bytes.Buffer
	fields      models.Fields
	spreadsheet bool
	row         []string
}

func (t *csvText) begin() {
	if t.spreadsheet {
		t.WriteString("\xef\xbb\xbf")
	}
	t.writeRow(t.fields.Columns())
}

func (t *csvText) add(user *models.User) {
	t.row = append(t.row[:0], strconv.FormatInt(user.ID, 10))
	t.addValues(user, true)
	t.row = append(t.row, user.CreatedAt)
	t.addValues(user, false)
	t.writeRow(t.row)
}

// addValues adds the values of the required fields to a row, or those of the others: NULL is an empty text.
func (t *csvText) addValues(user *models.User, required bool) {
	for _, field := range t.fields {
		if field.Required == required {
			t.row = append(t.row, *cmp.Or(field.Value(&user.NewUser), new("")))
		}
	}
}

func (t *csvText) writeRow(values []string) {
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
