package routes

import (
	"crypto/sha256"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"users-api/config"
)

func TestAKeyIsRefusedFromTheMidnightAfterItsLastDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock begins at midnight, 2000-01-01 UTC
		const ends, stays = "full-key-aaaaaaaaaaaa", "full-key-bbbbbbbbbbbb"
		log := &lines{}
		engine := Service{Metrics: noFigures(), Logger: slog.New(slog.NewTextHandler(log, nil)), Access: Access{
			Keys: config.NewKeyring(config.Keys{
				sha256.Sum256([]byte(ends)):  {Name: "hr-sync", Full: true, Until: time.Now().Add(24 * time.Hour)},
				sha256.Sum256([]byte(stays)): {Full: true},
			}),
		}}.engine(usual())
		engine.GET("/api/users", func(*gin.Context) {})
		expect := func(status int, access string, keys ...string) {
			request, answer := httptest.NewRequest("GET", "/api/users", nil), httptest.NewRecorder()
			request.Header["X-Api-Key"] = keys
			engine.ServeHTTP(answer, request)
			if got := answer.Header().Get("X-API-Key-Access"); answer.Code != status || got != access {
				t.Errorf("at %s, %v are answered %d %s and may do %q, want %d and %q",
					time.Now().UTC(), keys, answer.Code, answer.Body, got, status, access)
			}
		}
		time.Sleep(24*time.Hour - 1)
		expect(200, "full", ends)
		time.Sleep(time.Nanosecond)
		expect(401, "", ends)
		time.Sleep(1000 * time.Hour)
		expect(401, "", ends)
		expect(401, "", stays, ends)
		expect(200, "full", stays)
		if strings.Count(log.String(), "status=401") != 3 || strings.Count(log.String(), "key=hr-sync") != 4 {
			t.Errorf("the log does not name the key that has ended:\n%s", log)
		}
	})
}
