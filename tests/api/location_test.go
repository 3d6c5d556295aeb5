package api

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A proxy may serve the API under any prefix: a client finds the user that it has created all the same.
func TestLocationLeadsToTheCreatedUserBehindAnyPrefix(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	target, err := url.Parse(p.URL)
	program.Must(t, err)
	for _, prefix := range []string{"", "/people", "/a/b"} {
		proxy := httptest.NewServer(http.StripPrefix(prefix, httputil.NewSingleHostReverseProxy(target)))
		defer proxy.Close()
		email := strings.Trim(prefix, "/") + "@example.org"
		created, err := http.Post(proxy.URL+prefix+"/api/users", "application/json", strings.NewReader(program.Body("Ada", email)))
		program.Must(t, err)
		_ = created.Body.Close()
		place, err := created.Location() // as RFC 3986 resolves it
		if err != nil {
			t.Fatalf("%d: %v", created.StatusCode, err)
		}
		found, err := http.Get(place.String())
		program.Must(t, err)
		_ = found.Body.Close()
		sent := created.Header.Get("Location")
		if !strings.HasPrefix(sent, "users/") || found.StatusCode != 200 || found.Header.Get("ETag") == "" {
			t.Errorf("%s leads to %s, which answers %d", sent, place, found.StatusCode)
		}
	}
}

func TestOnlyACreationHasALocation(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.ExpectHeader(t, p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org")), "Location", "users/1")
	for _, request := range []string{
		"POST /api/users", "PUT /api/users/1", "PUT /api/users/2", "PATCH /api/users/1", "GET /api/users/1", "GET /api/users",
		"POST " + program.NDJSON, "DELETE /api/users/1",
	} {
		method, path, _ := strings.Cut(request, " ")
		answer := p.Do(t, method, path, program.Body("Ada", "ada@example.org"))
		if place, given := answer.Header["Location"]; given {
			t.Errorf("%s is answered %d with Location %s", request, answer.Status, place)
		}
	}
}
