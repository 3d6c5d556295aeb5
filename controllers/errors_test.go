package controllers

import (
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

func TestARefusalKeepsNoHeaderOfTheResponseThatFailed(t *testing.T) {
	t.Parallel()
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest("GET", "/", nil)
	revalidate(c)
	names := []string{"Content-Disposition", "Link", "X-Total-Count", "ETag", "Cache-Control"}
	for _, name := range names {
		c.Header(name, "of the page")
	}
	Refuse(c, errNoRoom)
	for _, name := range names {
		if got := c.Writer.Header().Get(name); got != "" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
