package routes

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// admitFile bounds a file that is imported: it may take as long as it takes, while it keeps its pace. It is on disk
// while it arrives, so that only a few may arrive at once.
func (b *bodies) admitFile(c *gin.Context) {
	slots := b.imports
	if c.GetString(keyAccess) == "read" {
		slots = b.dryRuns
	}
	if !slots.TryAcquire(1) {
		controllers.Refuse(c, controllers.ErrBusyImports)
		return
	}
	defer slots.Release(1)
	c.Request.Body = &upload{
		ReadCloser: c.Request.Body, connection: http.NewResponseController(c.Writer),
		pace: pace{spare: b.limits.behind, most: b.limits.behind, rate: b.limits.rate},
	}
	c.Next()
}

// upload is a request body that is given up when it comes too slowly.
type upload struct {
	io.ReadCloser
	connection *http.ResponseController
	pace       pace
	arrived    bool
}

// Read sets no deadline after the end of the body. net/http reads from the connection then, to notice a client that
// goes away, and would take a deadline for one: while a file was stored, that took the import back.
func (u *upload) Read(into []byte) (int, error) {
	if u.arrived {
		return 0, io.EOF
	}
	began := time.Now()
	_ = u.connection.SetReadDeadline(began.Add(u.pace.spare))
	n, err := u.ReadCloser.Read(into)
	u.pace.waited(time.Since(began))
	u.pace.moved(n)
	u.arrived = err == io.EOF
	return n, err
}
