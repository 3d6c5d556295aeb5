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

	"users-api/models"
)

// discard is an answer that no client reads, so that a benchmark sees the handler alone.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(data []byte) (int, error) { return len(data), nil }
func (d *discard) WriteHeader(int)                { clear(d.header) }

// BenchmarkRequest is what a request costs without the network.
func BenchmarkRequest(b *testing.B) {
	users := openUsers(b, newDatabase(b), 1<<20)
	for i := range 100 {
		if _, err := users.Create(b.Context(), models.NewUser{Name: "n", Email: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
	}
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	handler := Service{Users: users, Fields: plain(), Metrics: noFigures(), Logger: logger}.handler(context.Background(), usual())
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

// BenchmarkPage is what a page costs without the network, from memory and from storage.
func BenchmarkPage(b *testing.B) {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	database := newDatabase(b)
	_ = openUsers(b, database, 0)
	(&service{Database: database}).others(b, strings.Replace(ordinaryUsers, "20000", "100000", 1))
	for _, from := range []struct {
		name   string
		memory int
	}{{"memory", 64 << 20}, {"storage", 0}} {
		users := openUsers(b, database, from.memory)
		handler := Service{Users: users, Fields: plain(), Metrics: noFigures(), Logger: logger}.handler(context.Background(), usual())
		handler.ServeHTTP(&discard{http.Header{}}, httptest.NewRequest("GET", "/api/users", nil)) // the list is read
		for _, query := range []string{"limit=100&after=50000", "limit=50&order=desc", "limit=1&count=true", "limit=1000"} {
			b.Run(query+" from "+from.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					handler.ServeHTTP(&discard{http.Header{}}, httptest.NewRequest("GET", "/api/users?"+query, nil))
				}
			})
		}
	}
}
