package routes

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"users-api/models"
)

// discard is an answer that nobody reads, so that a benchmark sees the handler alone.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(data []byte) (int, error) { return len(data), nil }
func (d *discard) WriteHeader(int)                { clear(d.header) }

func BenchmarkListRequest(b *testing.B) {
	users, err := models.Open(filepath.Join(b.TempDir(), "users.db"), 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	defer users.Close() //nolint:errcheck // the directory is removed
	for i := range 100 {
		if _, err := users.Create(context.Background(), models.NewUser{Name: "n", Email: fmt.Sprint(i)}); err != nil {
			b.Fatal(err)
		}
	}
	handler := New(users, slog.New(slog.NewTextHandler(io.Discard, nil)))
	request := httptest.NewRequest(http.MethodGet, "/api/users", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(&discard{http.Header{}}, request)
	}
}
