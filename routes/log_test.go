package routes

import (
	"errors"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/controllers"
	"users-api/models"
)

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
		s := startWith(t, controllers.Handle(func(*gin.Context) error { return logged.failure }))
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
