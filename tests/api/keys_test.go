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
		{"POST", program.CSV + "?dry_run=true", 400, 400},
		{"POST", program.NDJSON + "?dry_run=true&on_conflict=skip", 200, 200},
		{"POST", program.CSV, 403, 400},
		{"POST", program.NDJSON + "?on_conflict=skip", 403, 200},
		{"GET", "/api/users", 200, 200},
		{"HEAD", "/api/users", 200, 200},
		{"GET", "/api/users?limit=1", 200, 200},
		{"GET", "/api/users?key=" + fullKey, 400, 400},
		{"GET", "/api/users/1", 200, 200},
		{"HEAD", "/api/users/1", 200, 200},
		{"GET", "/api/users/9", 404, 404},
		{"PATCH", "/api/users/1", 403, 200},
		{"PUT", "/api/users/1", 403, 200},
		{"DELETE", "/api/users/1", 403, 204},
		{"DELETE", "/api/users", 403, 405},
		{"OPTIONS", "/api/users", 403, 405},
		{"BREW", "/api/users", 403, 405},
		{"GET", "/api/changes", 404, 404},
		{"POST", "/api/changes", 403, 405},
		{"GET", "/api/nothing", 404, 404},
		{"POST", "/api/nothing", 403, 404},
		{"GET", "/api/", 404, 404},
		{"GET", "/api/users/", 404, 404},
	} {
		t.Run(route.method+" "+route.path, func(t *testing.T) {
			for _, try := range []struct {
				key    string
				status int
				access string
			}{
				{"", 401, ""}, {"wrong-key-0123456789", 401, ""}, {readKey, route.read, "read"}, {fullKey, route.full, "full"},
			} {
				answer := p.Do(t, route.method, route.path, body, "X-API-Key: "+try.key)
				expectKeyed(t, answer, try.status)
				expectAccess(t, answer, try.access)
			}
			expectAccess(t, open.Do(t, route.method, route.path, body, "X-API-Key: "+fullKey), "")
		})
	}
}

// expectAccess checks what an answer says that the key of its request may do; "" is for nothing.
func expectAccess(t *testing.T, answer program.Answer, access string) {
	t.Helper()
	if got := strings.Join(answer.Header.Values("X-API-Key-Access"), ", "); got != access {
		t.Errorf("%d has X-API-Key-Access %q, want %q", answer.Status, got, access)
	}
}

// expectKeyed checks the status of an answer under /api/, and that no cache hands it to another client.
func expectKeyed(t *testing.T, answer program.Answer, status int) {
	t.Helper()
	if answer.Status != status {
		t.Errorf("answered %d %s, want %d", answer.Status, answer.Body, status)
	}
	header := answer.Header
	if header.Get("Cache-Control") != "private, no-cache" || header.Get("Vary") != "Authorization, X-API-Key" {
		t.Errorf("%d has the headers %v", answer.Status, header)
	}
	if challenge := header.Get("WWW-Authenticate"); (challenge != "") != (status == 401 || status == 403) {
		t.Errorf("%d has the challenge %q", status, challenge)
	}
	program.Forbid(t, fmt.Sprint(answer), fullKey, readKey)
}

func TestWhatHasNoDataNeedsNoKey(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	for path, status := range map[string]int{"/health": 200, "/nothing": 404} {
		if answer := p.Do(t, "GET", path, ""); answer.Status != status || answer.Header.Get("Vary") != "" {
			t.Errorf("%s is answered %d with %v", path, answer.Status, answer.Header)
		}
	}
}

func TestAKeyIsTakenInBothHeadersAndEveryFile(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]string{
		"without a newline": fullKey, "with a newline": fullKey + "\n", "from Windows": fullKey + "\r\n",
		"of two keys": otherKey + "\n" + fullKey + "\n", "with blank lines": "\n\r\n" + fullKey + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := withKeys(t, keys)
			for header, want := range map[string]string{
				"Authorization: Bearer " + fullKey: "Name and email are required",
				"authorization: bearer " + fullKey: "Name and email are required",
				"Authorization: BEARER " + fullKey: "Name and email are required",
				"X-API-Key: " + fullKey:            "Name and email are required",
				"x-api-key: " + fullKey:            "Name and email are required",
				"X-API-Key: " + readKey:            "This API key can only read",
				"X-API-Key: " + fullKey[:18]:       "The API key is not valid",
				"X-API-Key: " + fullKey + "0":      "The API key is not valid",
				"Authorization: Basic " + fullKey:  "An API key is needed",
				"Authorization: " + fullKey:        "An API key is needed",
				"X-API-Key: ":                      "An API key is needed",
			} {
				if got := p.Do(t, "POST", "/api/users", "", header).Body; got != `{"error":"`+want+`"}` {
					t.Errorf("%q is answered %s, want %s", header, got, want)
				}
			}
		})
	}
}

func TestKeysAreExchangedWithoutAGap(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, step := range []struct {
		keys       string
		old, fresh int
	}{{fullKey, 200, 401}, {fullKey + "\n" + otherKey, 200, 200}, {otherKey, 401, 200}} {
		p := withKeys(t, step.keys, "DATA_DIR="+directory)
		old := p.Do(t, "GET", "/api/users", "", "X-API-Key: "+fullKey).Status
		fresh := p.Do(t, "GET", "/api/users", "", "Authorization: Bearer "+otherKey).Status
		if old != step.old || fresh != step.fresh {
			t.Errorf("with %q the old key is answered %d and the new one %d", step.keys, old, fresh)
		}
		p.Stop(t)
	}
}

func TestAMistakeInTheKeysEndsTheStartWithoutTheKey(t *testing.T) {
	t.Parallel()
	empty, good := filepath.Join(t.TempDir(), "empty"), filepath.Join(t.TempDir(), "good")
	program.WriteFile(t, empty, "\r\n")
	program.WriteFile(t, good, fullKey)
	malformed := filepath.Join(t.TempDir(), "malformed")
	program.WriteFile(t, malformed, otherKey+"\n# for HR\nhr-sync "+fullKey+" 2027-02-29\n")
	for _, bad := range []struct{ name, settings, says string }{
		{"an empty key", "API_KEY=", "API_KEY is set and has no key"},
		{"a short key", "API_KEY=" + fullKey[:15], "line 1 of API_KEY has a key that is too short"},
		{"a key with a space", "API_KEY=" + fullKey + " x", "line 1 of API_KEY has a key that is too short"},
		{"a file with a malformed line", "API_KEY_FILE=" + malformed, "line 3 of API_KEY_FILE has something else than a date"},
		{"both forms", "API_KEY=" + fullKey + "|API_KEY_FILE=" + good, "API_KEY and API_KEY_FILE are both set"},
		{"an empty file", "API_KEY_FILE=" + empty, "API_KEY_FILE is set and has no key"},
		{"the key where the file belongs", "API_KEY_FILE=" + fullKey, "API_KEY_FILE names cannot be read"},
		{"only a key that reads", "API_READ_KEY=" + readKey, "API_READ_KEY is set without API_KEY"},
		{"one key in both", "API_KEY_FILE=" + good + "|API_READ_KEY=" + fullKey, "line 1 of API_READ_KEY has a key for the"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), strings.Split(bad.settings, "|")...)
			program.ExpectRefusal(t, p, bad.says)
			program.Forbid(t, p.Log(), fullKey[:15], otherKey, readKey)
		})
	}
}

func TestTheHealthCheckNeedsNoKey(t *testing.T) {
	t.Parallel()
	port := withKeys(t, fullKey).URL[len("http://127.0.0.1:"):]
	stdout, stderr, code := program.Run(t, []string{"PORT=" + port, "API_KEY_FILE=/gone"}, "healthcheck")
	if code != 0 || stderr != "" {
		t.Errorf("it ends with %d, %q and %q", code, stdout, stderr)
	}
}

func TestAnOpenServiceThatOtherMachinesReachSaysSoOnce(t *testing.T) {
	t.Parallel()
	const warning = "level=WARN msg=\"anyone who can reach this port can read, change and delete all users\" help=\"set API_KEY"
	for settings, times := range map[string]int{
		"LISTEN_ADDRESS=":                         1,
		"LISTEN_ADDRESS=0.0.0.0":                  1,
		"LISTEN_ADDRESS=127.0.0.1":                0,
		"LISTEN_ADDRESS=::1":                      0,
		"LISTEN_ADDRESS=|API_KEY=" + fullKey:      0,
		"LISTEN_ADDRESS=|ALLOWED_HOSTS=a.example": 1,
	} {
		p := program.Serve(t, strings.Split(settings, "|")...)
		p.Do(t, "GET", "/nothing", "", "X-Request-Id: the-last")
		p.WaitForLog(t, "request_id=the-last") // the warning comes before the first request
		if got := strings.Count(p.Log(), warning); got != times || strings.Count(p.Log(), "WARN") != times {
			t.Errorf("with %s it warns %d times:\n%s", settings, got, p.Log())
		}
	}
}
