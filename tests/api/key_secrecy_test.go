package api

import (
	"testing"

	"users-api/tests/program"
)

func TestNoKeyIsEverInTheLogOrAFigure(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey+"\n"+otherKey, "LOG_LEVEL=debug", "ADMIN_PORT=0")
	for _, key := range []string{fullKey, otherKey, readKey, "wrong-key-0123456789"} {
		for _, header := range []string{"X-API-Key: " + key, "Authorization: Bearer " + key, "Authorization: Basic " + key} {
			p.Do(t, "POST", "/api/users", program.Body("A", key), header)
			p.Do(t, "GET", "/api/users/"+key+"?api_key="+key, "", header)
			p.Do(t, "GET", "/"+key, "", header)
		}
	}
	p.Do(t, "GET", "/api/users", "", "X-API-Key: "+fullKey, "X-Request-Id: the-last")
	p.WaitForLog(t, "request_id=the-last")
	secrets := []string{fullKey, otherKey, readKey, "wrong-key"}
	program.Forbid(t, p.Log(), secrets...)
	for _, path := range []string{
		"/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1",
	} {
		answer := program.AskAdmin(t, p, path)
		answer.Expect(t, 200, "…")
		program.Forbid(t, answer.Body, secrets...)
	}
}
