package routes

import (
	"context"
	"fmt"
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

// BenchmarkRequest is what a request costs without the network, with pages from memory and from storage.
func BenchmarkRequest(b *testing.B) {
	path := b.TempDir() + "/users.db"
	for from, memory := range map[string]int{"memory": 64 << 20, "storage": 0} {
		users := openUsers(b, path, memory)
		for i := range 10_000 {
			user := models.NewUser{Name: fmt.Sprint("Person ", i), Email: fmt.Sprint(from, i, "@example.org")}
			if _, err := users.Create(b.Context(), user); err != nil {
				b.Fatal(err)
			}
		}
		handler := silent(users).handler(context.Background(), usual())
		handler.ServeHTTP(&discard{http.Header{}}, httptest.NewRequest("GET", "/api/users", nil)) // the list is read
		for _, bench := range []struct{ method, path, body string }{
			{"GET", "/health", ""},
			{"GET", "/api/users/1", ""},
			{"POST", "/api/users", `{"name":"Ada Lovelace","email":""}`},
			{"GET", "/api/users?limit=100&after=5000", ""},
			{"GET", "/api/users?limit=50&order=desc", ""},
			{"GET", "/api/users?limit=1&count=true", ""},
			{"GET", "/api/users?limit=1000", ""},
		} {
			b.Run(bench.method+" "+bench.path+" from "+from, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					request := httptest.NewRequest(bench.method, bench.path, strings.NewReader(bench.body))
					handler.ServeHTTP(&discard{http.Header{}}, request)
				}
			})
		}
	}
}
