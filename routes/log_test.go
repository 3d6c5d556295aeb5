package routes

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

func TestARequestIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	for _, logged := range []struct{ name, method, path, body, line string }{
		{"a creation", "POST", "/api/users", `{"name":"A","email":"a@b"}`,
			"INFO POST route=/api/users status=201 bytes=33"},
		{"a duplicate", "POST", "/api/users", `{"name":"A","email":"ada@example.org"}`,
			"ERROR POST route=/api/users status=500 bytes=75 storage_code=2067 " +
				`storage_error="Abort due to constraint violation (SQLITE_CONSTRAINT)"`},
		{"a user", "GET", "/api/users/1", "", "INFO GET route=/api/users/:id status=200 bytes=82"},
		{"a search", "GET", "/api/users?email=ada@example.org", "",
			"INFO GET route=/api/users status=200 bytes=84"},
		{"a refused change", "PATCH", "/api/users/1", "[]", "INFO PATCH route=/api/users/:id status=400 bytes=64"},
		{"an unknown path", "GET", "/ada@example.org", "", "INFO GET route=unknown status=404 bytes=21"},
		{"another method", "PUT", "/api/users", "", "INFO PUT route=unknown status=405 bytes=30"},
	} {
		t.Run(logged.name, func(t *testing.T) {
			s := start(t)
			s.create(t, "Ada", "ada@example.org")
			s.do(t, logged.method, logged.path, logged.body, "X-Request-Id: abc")
			s.do(t, "GET", "/health", "")
			_ = s.end(t)
			line := regexp.MustCompile(`^time=\S+ level=`).ReplaceAllString(s.log.String(), "")
			line = strings.Replace(line, "msg=request method=", "", 1)
			line = regexp.MustCompile(` duration=\S+`).ReplaceAllString(line, "")
			if want := logged.line + "\n"; strings.Replace(line, " request_id=abc", "", 1) != want || line == want {
				t.Errorf("got  %swant %s", line, want)
			}
		})
	}
}

func TestTheTextOfAnErrorIsNotInTheLog(t *testing.T) {
	t.Parallel()
	for _, logged := range []struct {
		failure    error
		body, line string
	}{
		{errors.New("sql: Scan error on ada@example.org"), "Internal server error", "error_type=*errors.errorString"},
		{&models.StorageError{Text: "no ada@example.org"}, "no ada@example.org", "storage_error=unknown"},
		{&models.StorageError{Text: "no ada@example.org", Code: "1", Meaning: "SQL error"}, "no ada@example.org",
			`storage_code=1 storage_error="SQL error"`},
		{models.ErrClosed, models.ErrClosed.Text, `storage_error="` + models.ErrClosed.Text},
		{models.ErrReplaced, models.ErrReplaced.Text, `storage_error="` + models.ErrReplaced.Text},
	} {
		s := startWith(t, nil, controllers.Handle(func(*gin.Context) error { return logged.failure }))
		if got := s.do(t, "GET", "/", ""); got.status != 500 || got.body != `{"error":"`+logged.body+`"}` {
			t.Errorf("answered %d %s", got.status, got.body)
		}
		_ = s.end(t)
		if text := s.log.String(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, logged.line) ||
			strings.Contains(text, "ada@") {
			t.Errorf("the log says %s, want %s", text, logged.line)
		}
	}
}

func TestARequestIDOfTheClientIsTakenOverWhenItIsShortAndPlain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for _, id := range []string{"abc-123", "A.b_9Z", "0", "az-AZ.09_", long} {
		if got := requestID(id); got != id {
			t.Errorf("%q becomes %q", id, got)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", long + "a", "a b", "a=b", `"x"`, "ada@example.org", "é", "a/b", "a:b", "[", "{"} {
		got := requestID(id)
		if got == id || got == "" || seen[got] {
			t.Errorf("%q becomes %q", id, got)
		}
		seen[got] = true
	}
}
