package routes

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"users-api/models"
)

// discard is an answer that nobody reads, so that a benchmark sees the handler alone.
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
	handler := Service{Users: users, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}.handler(usual())
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
