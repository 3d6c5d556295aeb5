package controllers

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

func TestARefusalKeepsNoHeaderOfTheResponseThatFailed(t *testing.T) {
	gin.SetMode(gin.TestMode)
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodGet, "/", nil)
	revalidate(c)
	for _, name := range []string{"Content-Disposition", "Link", "X-Total-Count", "ETag"} {
		c.Header(name, "of the page")
	}
	Refuse(c, errNoRoom)
	for _, name := range []string{"Content-Disposition", "Link", "X-Total-Count", "ETag", "Cache-Control"} {
		if got := c.Writer.Header().Get(name); got != "" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
