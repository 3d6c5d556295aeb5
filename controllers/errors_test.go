package controllers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	words := map[string]bool{}
	for at, known := range Codes {
		if words[known.Word] || !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(known.Word) {
			t.Errorf("the word of code %d is %q", at, known.Word)
		}
		words[known.Word] = true
		title := http.StatusText(known.Status)
		want := fmt.Sprintf(`{"type":"about:blank","title":%q,"status":%d,"detail":"A < b","code":%q}`,
			title, known.Status, known.Word)
		for accept, body := range map[string]string{problemType: want, "*/*": `{"error":"A < b"}`} {
			answer := refusedAs(newError(code(at), "A < b"), accept)
			if answer.Code != known.Status || answer.Body.String() != body {
				t.Errorf("%s is answered %d %s, want %s", known.Word, answer.Code, answer.Body, body)
			}
			after := answer.Header().Get("Retry-After")
			if (after == RetryAfter) != (known.Status == http.StatusServiceUnavailable) {
				t.Errorf("%d has Retry-After %q", answer.Code, after)
			}
		}
	}
}
