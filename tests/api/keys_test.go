package api

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// The keys of these tests. No log, answer or figure may have any of them.
const (
	fullKey  = "full-key-0123456789"
	otherKey = "other-key-987654321"
	readKey  = "read-key-abcdefghij"
)

// withKeys starts the program with keys that may do everything in a file, and one that may only read.
func withKeys(t *testing.T, keys string, settings ...string) *program.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, file, keys)
	return program.Serve(t, append([]string{"API_KEY_FILE=" + file, "API_READ_KEY=" + readKey}, settings...)...)
}

func TestEveryRouteAsksForAKeyThatMayDoWhatItDoes(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey+"\n")
	open := program.Serve(t)
	const body = `{"name":"A","email":"a@b"}`
	for _, route := range []struct {
		method, path string
		read, full   int
	}{
		{"POST", "/api/users", 403, 201},
		{"POST", program.NDJSON + "?dry_run=true&on_conflict=skip", 200, 200},
		{"POST", program.CSV, 403, 400},
		{"POST", program.CSV + "?dry_run=TRUE", 403, 400},
		{"POST", program.CSV + "?dry_run=true&x=%zz", 403, 400},
		{"POST", program.CSV + "?x;dry_run=true", 403, 400},
		{"GET", "/api/users", 200, 200},
		{"HEAD", "/api/users", 200, 200},
		{"GET", "/api/users?key=" + fullKey, 400, 400},
		{"GET", "/api/users/1", 200, 200},
		{"PATCH", "/api/users/1", 403, 200},
		{"PUT", "/api/users/1", 403, 200},
		{"DELETE", "/api/users/1", 403, 204},
		{"DELETE", "/api/users", 403, 405},
		{"GET", "/api/changes", 200, 200},
		{"GET", "/api/users/1/changes", 403, 200},
		{"DELETE", "/api/users/1/changes", 403, 204},
		{"GET", "/api/users/deleted", 403, 200},
		{"POST", "/api/users/9/restore", 403, 404},
		{"GET", "/api/nothing", 404, 404},
		{"DELETE", "/%61pi/users/9", 403, 404},
	} {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			statuses := map[string]int{"": 401, "wrong-key-0123456789": 401, readKey: route.read, fullKey: route.full}
			isOfChanges := strings.Contains(route.path, "changes") || strings.HasSuffix(route.path, "deleted")
			for key, status := range statuses {
				answer := p.Do(t, route.method, route.path, body, "X-API-Key: "+key)
				answer.Expect(t, status, "…")
				caches := map[bool]string{true: "no-store", false: "private, no-cache"}[isOfChanges && status == 200]
				program.ExpectHeader(t, answer, "Cache-Control", caches)
				program.ExpectHeader(t, answer, "Vary", "Authorization, X-API-Key")
				isChallenged := answer.Header.Get("WWW-Authenticate") != ""
				program.Expect(t, fmt.Sprint("whether a ", status, " has a challenge"), isChallenged, status == 401 || status == 403)
				program.Forbid(t, fmt.Sprint(answer.Header, answer.Body), fullKey, readKey)
				access := map[string]string{readKey: "read", fullKey: "full"}[key]
				program.ExpectHeader(t, answer, "X-API-Key-Access", access)
				if isChallenged && route.method == "GET" {
					expectProblem(t, p.Do(t, route.method, route.path, body, "X-API-Key: "+key, "Accept: "+problemType), answer)
				}
			}
			unasked := open.Do(t, route.method, route.path, body, "X-API-Key: "+fullKey)
			program.ExpectHeader(t, unasked, "X-API-Key-Access", "")
			isPrivate := strings.Contains(unasked.Header.Get("Cache-Control"), "private") || unasked.Header.Get("Vary") != ""
			if unasked.Status != route.full || isPrivate {
				t.Errorf("without keys it is answered %d with %v", unasked.Status, unasked.Header)
			}
		})
	}
}

func TestAKeyIsTakenInEveryForm(t *testing.T) {
	t.Parallel()
	const (
		taken   = "Name and email are required" // it may create a user
		reads   = "This API key can only read"
		wrong   = "The API key is not valid"
		missing = "An API key is needed"
		first   = "The API key in Authorization is not valid; there is another one in X-API-Key"
		second  = "The API key in X-API-Key is not valid; there is another one in Authorization"
		bearer  = "Authorization: Bearer "
		named   = "X-API-Key: "
	)
	p := withKeys(t, fullKey+"\n"+otherKey)
	for headers, want := range map[string]string{
		bearer + fullKey: taken,
		"Authorization: BEARER   " + fullKey + "  ": taken,
		named + fullKey: taken,
		bearer + fullKey + "\r\n" + named + otherKey:      taken,
		"Authorization: Basic YTpi\r\n" + named + fullKey: taken, // a proxy's password beside it
		bearer + fullKey + "\r\n" + named + "x":           second,
		bearer + "x\r\n" + named + fullKey:                first,
		"Authorization: Basic YTpi\r\n" + named + "x":     wrong,
		bearer + "x\r\n" + bearer + fullKey:               wrong,
		named + fullKey + "\r\n" + named + fullKey + "x":  wrong,
		named + fullKey + ", " + otherKey:                 wrong,
		named + fullKey + "0":                             wrong,
		named + strings.ToUpper(fullKey):                  wrong,
		named + strings.Repeat("k", 20_000):               wrong,
		bearer + "Bearer " + fullKey:                      wrong,
		named + readKey:                                   reads,
		bearer + readKey + "\r\n" + named + fullKey:       reads,
		bearer + fullKey + "\r\n" + named + readKey:       reads,
		"Authorization: " + fullKey:                       missing,
		"Authorization: Basic " + fullKey:                 missing,
		bearer:                                            missing,
		named:                                             missing,
		"Cookie: X-API-Key=" + fullKey:                    missing,
	} {
		conn := p.Dial(t)
		conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n%s\r\n\r\n", headers)
		program.Expect(t, fmt.Sprintf("the answer to %.100q", headers), conn.Answer().Body, program.ErrorBody(want))
	}
}

func TestAnOpenServiceThatOtherMachinesReachSaysSoOnce(t *testing.T) {
	t.Parallel()
	const warning = "level=WARN msg=\"anyone who can reach this port can read, change and delete all users\" help=\"set API_KEY"
	for settings, times := range map[string]int{
		"LISTEN_ADDRESS=": 1, "LISTEN_ADDRESS=0.0.0.0": 1, "LISTEN_ADDRESS=::1": 0, "LISTEN_ADDRESS=|API_KEY=" + fullKey: 0,
		"LISTEN_ADDRESS=|PUBLISH=3000": 1, "LISTEN_ADDRESS=|PUBLISH=[::]:3000": 1, // with compose
		"LISTEN_ADDRESS=|PUBLISH=127.0.0.2:8000-8010": 0, "LISTEN_ADDRESS=|PUBLISH=[::1]:3000": 0,
	} {
		p := program.Serve(t, strings.Split(settings, "|")...)
		p.Do(t, "GET", "/nothing", "", "X-Request-Id: the-last")
		p.WaitForLog(t, "request_id=the-last") // the warning comes before the first request
		got := []int{strings.Count(p.Log(), warning), strings.Count(p.Log(), "WARN")}
		program.Expect(t, "how often it warns with "+settings, got, []int{times, times})
	}
}

func TestNoKeyIsEverInTheLogOrAFigure(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey+"\n"+otherKey, "LOG_LEVEL=debug", "ADMIN_PORT=0")
	secrets := []string{fullKey, otherKey, readKey, "wrong-key-0123456789"}
	for _, key := range secrets {
		for _, header := range []string{"X-API-Key: ", "Authorization: Bearer ", "Authorization: Basic "} {
			p.Do(t, "POST", "/api/users", program.Body("A", key), header+key)
			p.Do(t, "GET", "/api/users/"+key+"?api_key="+key, "", header+key)
		}
	}
	said := ""
	for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2"} {
		said += program.AskAdmin(t, p, path).Body
	}
	p.Stop(t) // every line is written
	program.Forbid(t, said+p.Log(), secrets...)
}
