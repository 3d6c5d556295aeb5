package controllers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
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

// Which requests wait for one another cannot be seen from outside: it is a matter of chance who comes first.
func TestRequestsThatMayBeForOneUserShareAQueue(t *testing.T) {
	const user, same, other = "PATCH /api/users/7", "DELETE /api/users/%37?x=y", "GET /api/users/8"
	const email, creation, list = "GET /api/users/ada%40example.org", "POST /api/users", "GET /api/users?limit=1"
	for _, c := range []struct {
		name     string
		requests []string
		queues   string
	}{
		{"nothing has no queue", nil, "[]"},
		{"requests for one user share one", []string{user, other, same, other}, "[[0 2] [1 3]]"},
		{"creations share none", []string{creation, creation, user, creation}, "[[0] [1] [2] [3]]"},
		{"lists share one, and none with creations", []string{creation, list, creation, list}, "[[0] [1 3] [2]]"},
		{"an email may be of any user", []string{user, list, other, creation, email}, "[[0 2 4] [1] [3]]"},
		{"an @ in a list names nobody", []string{user, other, "GET /api/users?limit=1&email=a@b"}, "[[0] [1] [2]]"},
	} {
		var b batch
		for _, request := range c.requests {
			method, path, _ := strings.Cut(request, " ")
			b.requests = append(b.requests, httptest.NewRequest(method, path, http.NoBody))
		}
		queues := b.queues()
		if queues == nil {
			queues = [][]int{}
		}
		if got := fmt.Sprint(queues); got != c.queues {
			t.Errorf("%s: %s, want %s", c.name, got, c.queues)
		}
	}
}
