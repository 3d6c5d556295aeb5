package routes

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAnImportThatIsOnlyTriedReads(t *testing.T) {
	t.Parallel()
	for target, reads := range map[string]bool{
		"POST /api/users.csv?dry_run=true":                     true,
		"POST /api/users.ndjson?on_conflict=skip&dry_run=true": true,
		"POST /api/users.csv":                                  false,
		"POST /api/users.csv?dry_run=false":                    false,
		"POST /api/users.csv?dry_run=TRUE":                     false,
		"POST /api/users.csv?dry_run=":                         false,
		"POST /api/users.csv?dry_run=true&dry_run=false":       false,
		"POST /api/users.csv?dry_run=false&dry_run=true":       false,
		"POST /api/users.csv?dry_run=true&x=%zz":               false,
		"POST /api/users.csv?x;dry_run=true":                   false,
		"POST /api/users?dry_run=true":                         false,
		"PUT /api/users.csv?dry_run=true":                      false,
		"DELETE /api/users/1?dry_run=true":                     false,
		"DELETE /api/users/1":                                  false,
		"get /api/users":                                       false,
	} {
		method, path, _ := strings.Cut(target, " ")
		request, err := http.NewRequest(method, path, nil)
		if err != nil || onlyReads(request) != reads {
			t.Errorf("%s only reads: %v, %v", target, !reads, err)
		}
	}
}

func TestAHostIsComparedWithoutItsPortAndLetterCase(t *testing.T) {
	t.Parallel()
	access := Access{Hosts: []string{"users.example.org", "::1", "192.0.2.1"}}
	for host, allowed := range map[string]bool{
		"users.example.org": true, "USERS.example.ORG:3000": true, "users.example.org.": true, "[::1]": true, "[::1]:3000": true,
		"[0:0:0:0:0:0:0:1]:80": true, "192.0.2.1": true, "192.0.2.1:1": true,
		"evil.example": false, "evil.example:3000": false, "users.example.org.evil.example": false, "evil-users.example.org": false,
		"localhost": false, "[::2]": false, "": false,
	} {
		if _, got := access.allowsHost(&http.Request{Host: host}); got != allowed {
			t.Errorf("%q is allowed: %t", host, got)
		}
	}
}

func TestRefusalsAreProblemsForWhoAsksForProblems(t *testing.T) {
	t.Parallel()
	access := locked()
	access.Hosts = []string{"127.0.0.1"}
	s := startFor(t, access)
	for _, c := range []struct{ header, host, title, detail string }{
		{"A: b", "127.0.0.1", `"title":"Unauthorized","status":401`, `"An API key is needed","code":"key_missing"`},
		{"X-API-Key: x", "127.0.0.1", `"title":"Unauthorized","status":401`, `"The API key is not valid","code":"key_invalid"`},
		{"X-API-Key: " + readKey, "127.0.0.1", `"title":"Forbidden","status":403`,
			`"This API key can only read","code":"key_read_only"`},
		{"A: b", "x", `"title":"Misdirected Request","status":421`,
			`"This service does not answer for the host \"x\"","code":"host_refused"`},
	} {
		conn := s.dial(t)
		conn.send("DELETE /api/users/1 HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n%s\r\n\r\n", c.host, problemType, c.header)
		got, want := conn.answer(), `{"type":"about:blank",`+c.title+`,"detail":`+c.detail+`}`
		vary := []string{"Authorization, X-API-Key", "Accept"}
		if got.status == 421 {
			vary = vary[1:]
		}
		if got.body != want || !slices.Equal(got.header.Values("Vary"), vary) {
			t.Errorf("answered %s with %v, want %s", got.body, got.header, want)
		}
	}
}
