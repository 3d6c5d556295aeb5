package controllers

import (
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/models"
)

func TestARefusalKeepsNoHeaderOfTheResponseThatFailed(t *testing.T) {
	t.Parallel()
	for refusal, after := range map[*Error]string{storageErrors[models.ErrNoRoom]: RetryAfter, ErrUnexpected: ""} {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequest("GET", "/", nil)
		Revalidate(c)
		names := []string{"Content-Disposition", "Link", "X-Total-Count", "ETag", "Cache-Control"}
		for _, name := range names {
			c.Header(name, "of the page")
		}
		Refuse(c, refusal)
		for _, name := range names {
			if got := c.Writer.Header().Get(name); got != "" {
				t.Errorf("%s of %d is %q", name, refusal.Status(), got)
			}
		}
		if got := c.Writer.Header().Get("Retry-After"); got != after {
			t.Errorf("Retry-After of %d is %q, want %q", refusal.Status(), got, after)
		}
	}
}
