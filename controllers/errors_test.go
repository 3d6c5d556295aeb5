package controllers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gin-gonic/gin"
)

func refusedAs(refusal *Error, accept string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(answer)
	c.Request = httptest.NewRequest("GET", "/", nil)
	c.Request.Header.Set("Accept", accept)
	Refuse(c, refusal)
	return answer
}

func TestEachCodeIsAWordOfAProblemWithItsStatus(t *testing.T) {
	t.Parallel()
	for word, status := range Codes {
		want := fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d,"detail":"A < b","code":%q}`,
			http.StatusText(status), status, word)
		for accept, body := range map[string]string{problemType: want, "*/*": `{"error":"A < b"}`} {
			answer := refusedAs(newError(word, "A < b"), accept)
			if answer.Code != status || answer.Body.String() != body {
				t.Errorf("%s is answered %d %s, want %s", word, answer.Code, answer.Body, body)
			}
			after := answer.Header().Get("Retry-After")
			if (after == RetryAfter) != (status == http.StatusServiceUnavailable) {
				t.Errorf("%d has Retry-After %q", answer.Code, after)
			}
		}
	}
}

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

func TestEveryErrorHasACode(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	files, _ := filepath.Glob("*.go")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`newError\("(\w+)"`).FindAllSubmatch(source, -1) {
			if used[string(match[1])] = true; Codes[string(match[1])] == 0 {
				t.Errorf("%s has an error with the code %s", file, match[1])
			}
		}
	}
	if len(used) != len(Codes) {
		t.Errorf("%d of %d codes are used", len(used), len(Codes))
	}
}
