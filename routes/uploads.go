package routes

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// admitFile applies the limits to a file that is imported. It has no limit on its total time, but it must keep its
// pace. It is stored on disk while it arrives, so only a few files may arrive at once.
func (b *bodies) admitFile(c *gin.Context) {
	slots := b.imports
	if callerOf(c).access == "read" {
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

// upload is a request body that is given up if it arrives too slowly.
type upload struct {
	io.ReadCloser
	connection *http.ResponseController
	pace       pace
	arrived    bool
}

// Read sets no deadline after the end of the body. net/http then reads from the connection to notice a client that goes
// away, and would take an expired deadline for one: that rolled back an import while its file was being stored.
func (u *upload) Read(into []byte) (int, error) {
	if u.arrived {
		return 0, io.EOF
	}
	began := time.Now()
	_ = u.connection.SetReadDeadline(began.Add(u.pace.spare))
	n, err := u.ReadCloser.Read(into)
	u.pace.spare -= time.Since(began)
	u.pace.moved(n)
	u.arrived = err == io.EOF
	return n, err
}
