package routes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"users-api/models"
	"users-api/models/storetest"
)

// discard is an answer that no client reads, so that a benchmark sees the handler alone.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(data []byte) (int, error) { return len(data), nil }
func (d *discard) WriteHeader(int)                { clear(d.header) }

// BenchmarkRequest is what a request costs without the network.
func BenchmarkRequest(b *testing.B) {
	users, _ := openUsers(b)
	for i := range 100 {
		if _, err := users.Create(b.Context(), models.NewUser{Name: "n", Email: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
	}
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	handler := Service{Users: users, Fields: storetest.Fields(), Metrics: noFigures(), Logger: logger}.handler(context.Background(), usual())
	for _, bench := range []struct{ name, method, path, body string }{
		{"health", "GET", "/health", ""},
		{"one user", "GET", "/api/users/1", ""},
		{"a refused creation", "POST", "/api/users", `{"name":"Ada Lovelace","email":""}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				request := httptest.NewRequest(bench.method, bench.path, strings.NewReader(bench.body))
				handler.ServeHTTP(&discard{http.Header{}}, request)
			}
		})
	}
}

// BenchmarkCounting is what the figures cost a request: the difference between the two.
func BenchmarkCounting(b *testing.B) {
	gin.SetMode(gin.ReleaseMode)
	for _, bench := range []struct {
		name       string
		middleware []gin.HandlerFunc
	}{{"without", nil}, {"with", []gin.HandlerFunc{noFigures().count}}} {
		b.Run(bench.name, func(b *testing.B) {
			engine := gin.New()
			engine.Use(bench.middleware...)
			engine.POST("/api/users", func(*gin.Context) {})
			b.ReportAllocs()
			b.RunParallel(func(loop *testing.PB) {
				request := httptest.NewRequest("POST", "/api/users", nil)
				answer := &discard{http.Header{}}
				for loop.Next() {
					engine.ServeHTTP(answer, request)
				}
			})
		})
	}
}
