package api

import (
	"net/http"
	"testing"

	"users-api/tests/program"
)

func TestAWriteThatChangesNothingKeepsTheETag(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := p.Do(t, http.MethodGet, "/api/users", "").Header.Get("ETag")
	p.Do(t, "DELETE", "/api/users/2", "")
	p.Do(t, "POST", "/api/users", program.Body("n", "ada@example.org"))
	if answer := p.Do(t, http.MethodGet, "/api/users", "", "If-None-Match: "+etag); answer.Status != 304 {
		t.Errorf("the list is answered %d", answer.Status)
	}
}
