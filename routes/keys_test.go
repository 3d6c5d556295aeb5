package routes

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/config"
)

// serveKeys returns a handler of every middleware in front of one route, which answers 200.
func serveKeys(keys config.Keys) (handler http.Handler, log *lines) {
	log = &lines{}
	s := Service{Access: Access{Keys: config.NewKeyring(keys)}, Metrics: noFigures(), Logger: slog.New(slog.NewTextHandler(log, nil))}
	engine := s.engine(usual())
	engine.GET("/api/users", func(*gin.Context) {})
	return engine, log
}

func send(handler http.Handler, keys ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("GET", "/api/users", nil)
	request.Header["X-Api-Key"] = keys
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestAKeyIsRefusedFromTheMidnightAfterItsLastDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock begins at midnight, 2000-01-01 UTC
		const ends, stays = "full-key-aaaaaaaaaaaa", "full-key-bbbbbbbbbbbb"
		handler, log := serveKeys(config.Keys{
			sha256.Sum256([]byte(ends)):  {Name: "hr-sync", Full: true, Until: time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)},
			sha256.Sum256([]byte(stays)): {Full: true},
		})
		time.Sleep(24*time.Hour - 1)
		if got := send(handler, ends); got.Code != 200 || got.Header().Get("X-API-Key-Access") != "full" {
			t.Errorf("on its last day the key is answered %d with %v", got.Code, got.Header())
		}
		time.Sleep(time.Nanosecond)
		for range 2 {
			got := send(handler, ends)
			if got.Code != 401 || got.Body.String() != `{"error":"The API key is not valid"}` || got.Header().Get("X-API-Key-Access") != "" {
				t.Errorf("after it the key is answered %d %s with %v", got.Code, got.Body, got.Header())
			}
			time.Sleep(1000 * time.Hour)
		}
		if got := send(handler, stays, ends); got.Code != 401 {
			t.Errorf("beside another it is answered %d", got.Code)
		}
		if got := send(handler, stays); got.Code != 200 {
			t.Errorf("a key without a last day is answered %d", got.Code)
		}
		if refused := strings.Count(log.String(), "status=401"); refused != 3 || strings.Count(log.String(), "key=hr-sync") != 4 {
			t.Errorf("the log does not name the key that has ended:\n%s", log)
		}
	})
}
