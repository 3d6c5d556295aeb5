package routes

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
)

// receiveFile bounds a file that is imported: it may take as long as it takes, while any byte of it comes. It is on
// disk while it arrives, so that only so many may arrive at once.
func (b *bodies) receiveFile(c *gin.Context) {
	select {
	case b.files <- struct{}{}:
		defer func() { <-b.files }()
	default:
		controllers.Refuse(c, controllers.ErrBusyImports)
		return
	}
	c.Request.Body = &upload{c.Request.Body, http.NewResponseController(c.Writer), b.time}
	c.Next()
}

// upload is a request body that is given up when nothing of it comes for some time.
type upload struct {
	io.ReadCloser
	connection *http.ResponseController
	stall      time.Duration
}

func (u *upload) Read(into []byte) (int, error) {
	_ = u.connection.SetReadDeadline(time.Now().Add(u.stall))
	return u.ReadCloser.Read(into)
}
