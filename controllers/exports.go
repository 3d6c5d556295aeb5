package controllers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// ExportCSV handles GET and HEAD /api/users.csv: 200, 206, 304, 400, 416, 500 or 503.
func (a *API) ExportCSV(c *gin.Context) error {
	asked, err := a.csvList.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	out := &csvText{fields: a.fields, spreadsheet: asked.spreadsheet}
	return a.export(c, asked, "csv", "text/csv; charset=utf-8", &out.Buffer, out.begin, out.add)
}

// ExportNDJSON handles GET and HEAD /api/users.ndjson in the same way.
func (a *API) ExportNDJSON(c *gin.Context) error {
	asked, err := a.list.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	return a.export(c, asked, "ndjson", "application/x-ndjson", &out, out.Reset, func(user *models.User) {
		out.Write(append(a.fields.AppendUser(out.AvailableBuffer(), user), '\n'))
	})
}

// export sends the requested users as a file. The whole file is written before the first byte is sent: a slow client holds
// no transaction, and can go on where it was cut off, if its file is still the same. Begin and add write to text.
func (a *API) export(c *gin.Context, asked request, ending, contentType string, text *bytes.Buffer, begin func(),
	add func(*models.User)) error {
	file, err := a.users.Temp.New()
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	query := asked.Query
	if query.Limit > 0 {
		query.Limit++ // to know whether others follow
	}
	err = a.users.Export(c.Request.Context(), query, func(export models.Export) error {
		if asked.Query.Count {
			c.Header("X-Total-Count", strconv.FormatInt(export.Total, 10))
		}
		c.Header("Changes-Cursor", export.Cursor)
		begin()
		users, last := 0, int64(0)
		for user, err := range export.Users {
			if err != nil {
				return err
			}
			if users++; users == query.Limit {
				c.Header("Link", "<"+asked.next(last)+`>; rel="next"`)
				break
			}
			last = user.ID
			if add(user); text.Len() < models.ChunkBytes {
				continue
			}
			if _, err := text.WriteTo(io.MultiWriter(file, sum)); err != nil {
				return err
			}
		}
		_, err := text.WriteTo(io.MultiWriter(file, sum))
		return err
	})
	if err != nil {
		return err
	}
	revalidate(c)
	c.Header("Content-Type", contentType)
	c.Header("Content-Disposition", `attachment; filename="users-`+time.Now().UTC().Format(time.DateOnly)+"."+ending+`"`)
	c.Header("ETag", `"`+hex.EncodeToString(sum.Sum(nil)[:16])+`"`)
	c.Request.Header.Del("If-Match") // a client does not change a file, and ServeContent would answer without an error object
	sent := &sentFile{ResponseWriter: c.Writer}
	http.ServeContent(sent, c.Request, "", time.Time{}, file)
	return sent.err
}

// sentFile is the response that [http.ServeContent] sends. It keeps the error of the connection, which ServeContent ignores.
type sentFile struct {
	http.ResponseWriter
	err error
}

func (s *sentFile) Write(data []byte) (n int, err error) {
	n, s.err = s.ResponseWriter.Write(data)
	return n, s.err
}
