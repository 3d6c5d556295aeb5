package controllers

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

// ExportCSV handles GET and HEAD /api/users.csv: 200, 206, 304, 400, 416, 500 or 503.
func (a *API) ExportCSV(c *gin.Context) error {
	return a.export(c, a.csvList, "csv", "text/csv; charset=utf-8", writeCSV)
}

// ExportNDJSON handles GET and HEAD /api/users.ndjson in the same way.
func (a *API) ExportNDJSON(c *gin.Context) error {
	return a.export(c, a.list, "ndjson", "application/x-ndjson", writeNDJSON)
}

// writeFile returns the header of a file, and a function that returns the row of a user, valid until the next.
type writeFile func(fields models.Fields, spreadsheet bool) (header []byte, row func(*models.User) []byte)

func writeNDJSON(fields models.Fields, _ bool) (header []byte, row func(*models.User) []byte) {
	var line []byte
	return nil, func(user *models.User) []byte {
		line = append(fields.AppendUser(line[:0], user), '\n')
		return line
	}
}

// export sends the requested users as a file. The whole file is written before the first byte is sent: a slow client
// holds no transaction, and can go on where it was cut off, if its file is still the same.
func (a *API) export(c *gin.Context, parameters parameters, ending, contentType string, write writeFile) error {
	asked, err := parameters.parse(c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	file, err := a.users.Temp.New()
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(file, sum), models.ChunkBytes)
	header, row := write(a.fields, asked.spreadsheet)
	_, _ = out.Write(header) // Flush returns the error
	page, err := a.readPage(c, &asked, func(user *models.User) error {
		_, err := out.Write(row(user))
		return err
	})
	if page.more { // the same users have another tag: a 304 could not take back the Link that a client has
		_, _ = sum.Write([]byte{'>'})
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		return err
	}
	describePage(c, &asked, page)
	Revalidate(c)
	c.Header("Content-Type", contentType)
	c.Header("Content-Disposition", `attachment; filename="users-`+time.Now().UTC().Format(time.DateOnly)+"."+ending+`"`)
	c.Header("ETag", `"`+hex.EncodeToString(sum.Sum(nil)[:16])+`"`)
	// A client does not change a file, and ServeContent would answer without an error object.
	c.Request.Header.Del("If-Match")
	sent := &sentFile{ResponseWriter: c.Writer}
	http.ServeContent(sent, c.Request, "", time.Time{}, file)
	return sent.err
}

// sentFile is the response that [http.ServeContent] sends. It keeps the connection's error, which that ignores.
type sentFile struct {
	http.ResponseWriter
	err error
}

func (s *sentFile) Write(data []byte) (n int, err error) {
	n, s.err = s.ResponseWriter.Write(data)
	return n, s.err
}
