package routes

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/tests/program"
)

// Each route says itself how it takes bodies.
func TestNoRouteTakesALargeBodyWithoutAPlace(t *testing.T) {
	t.Parallel()
	place := location(filepath.Join(t.TempDir(), "users.db"))
	place.Fields = models.NewFields("external_id", "active") // SCIM needs both
	users, err := place.Open(context.Background(), 1<<20)
	program.Must(t, err)
	t.Cleanup(func() { _ = users.Close(context.Background()) })
	s := serve(t, Service{Users: users}, nil, func(l *limits) {
		l.largeBodies, l.batches, l.imports, l.body = 0, 0, 0, 300*time.Millisecond
	})
	tried := 0
	for _, route := range silent(users).routes(context.Background(), usual()).Routes() {
		if slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, route.Method) {
			tried++
			path := strings.ReplaceAll(route.Path, ":id", "1")
			refused := s.Do(t, route.Method, path, strings.Repeat(" ", 2*smallBody))
			refused.Expect(t, 503, "…at once: send it again …")
			program.ExpectHeader(t, refused, "Retry-After", "5")
		}
	}
	program.Expect(t, "routes that take bodies", tried, 10)
}

func TestAStopEndsTheWaitForAPlace(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) { l.largeBodies, l.body, l.stop = 0, time.Hour, 50*time.Millisecond })
	body := strings.Repeat(" ", 2*smallBody)
	waiting := s.BeginRequest(t, "POST /api/users", body) // the handler reads now
	waiting.Send("%s", body)
	s.end(t)
	text, _ := waiting.Rest()
	program.Expect(t, "what comes", text, "")
	s.WaitForLog(t, "status=499…cut_by=stop")
}

// A small batch may have large answers: it needs a place, too, until they are sent. A body that is none needs no such place.
func TestABatchWithoutAPlaceIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) { l.batches, l.body = 1, 300*time.Millisecond })
	other := program.OpenOther(t, s.path)
	other.HoldWrites()
	const creation = `{"requests":[{"method":"POST","path":"/api/users","body":{"name":"n","email":"1"}}]}`
	first := s.Dial(t)
	first.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", batchPath, len(creation), creation)
	program.WaitFor(t, "a batch has the place", func() bool {
		answer := s.Do(t, "POST", batchPath, `{"requests":[]}`)
		if answer.Status == 200 {
			return false
		}
		answer.Expect(t, 503, program.ErrorBody("Too many large request bodies are arriving at once: send it again in a few seconds"))
		program.ExpectHeader(t, answer, "Retry-After", "5")
		return true
	})
	s.Do(t, "PATCH", "/api/users/x", "{}").Expect(t, 404, "…")
	other.LetGo()
	first.Answer().Expect(t, 200, `{"responses":[{"status":201,…`)
	s.Do(t, "POST", batchPath, `{"requests":[]}`).Expect(t, 200, `{"responses":[]}`)
}
