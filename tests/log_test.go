package tests

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

var requestLine = regexp.MustCompile(`^time=\S+ level=INFO msg=request method=POST route=/api/users status=201 ` +
	`duration=\S+ bytes=47 request_id=\S+\n$`)

func TestARequestIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	p := start(t)
	before := p.Log()
	answer := p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"))
	id := answer.Header.Get("X-Request-Id")
	p.WaitForLog(t, "request_id="+id+"\n")
	if line := strings.TrimPrefix(p.Log(), before); !requestLine.MatchString(line) {
		t.Errorf("the log says %q", line)
	}
}

func TestAClientsRequestIDIsKeptWhenItIsShortAndPlain(t *testing.T) {
	t.Parallel()
	p := start(t)
	for id, kept := range map[string]bool{
		"abc-123": true, "A.b_9": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a=b": false, `"x"`: false, "ada@example.org": false, "é": false,
	} {
		answered := p.Do(t, "GET", "/api/users", "", "X-Request-Id: "+id).Header.Get("X-Request-Id")
		if (answered == id) != kept || answered == "" {
			t.Errorf("%q is answered %q", id, answered)
		}
	}
	forbid(t, p.Log(), "ada@example.org", "a=b")
}

func TestTheLogCanBeJSON(t *testing.T) {
	t.Parallel()
	p := start(t, "LOG_FORMAT=json")
	p.List(t)
	p.WaitForLog(t, `"msg":"request"`)
	for _, line := range strings.Split(strings.TrimSpace(p.Log()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func TestTheLogLevelDoesNotHideErrors(t *testing.T) {
	t.Parallel()
	p := start(t)
	quiet := program.Launch(t, binary, "LOG_LEVEL=warn", "PORT="+strings.TrimPrefix(p.URL, "http://127.0.0.1:"))
	expectRefusal(t, quiet, "address already in use") // an error is still shown
	forbid(t, quiet.Log(), "level=INFO")
}

func TestHealthIsNotLogged(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Do(t, "GET", "/health", "")
	p.List(t)
	p.WaitForLog(t, "route=/api/users")
	forbid(t, p.Log(), "health")
}

func TestNoUserIsEverInTheLog(t *testing.T) {
	t.Parallel()
	p := start(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'Secret Bad'
		BEGIN SELECT RAISE(ABORT, 'no secret@example.org here'); END`)
	for _, body := range []string{
		program.Body("Secret Name", "secret@example.org"), program.Body("Secret Other", "secret@example.org"),
		program.Body("Secret Bad", "secret2@example.org"),
		`{"name":"Secret","email":"secret@example.org"`, `{"name":"Secret","email":5}`,
	} {
		p.Do(t, "POST", "/api/users", body)
	}
	p.Do(t, "DELETE", "/api/users/secret@example.org", "")
	p.Do(t, "GET", "/secret@example.org?email=secret@example.org", "")
	p.Do(t, "GET", "/health", "", "User-Agent: secret@example.org")
	other.Do("DROP TABLE users")
	p.Do(t, "POST", "/api/users", program.Body("Secret", "secret3@example.org"))
	answer := p.Do(t, "GET", "/api/users", "")
	p.WaitForLog(t, answer.Header.Get("X-Request-Id"))
	forbid(t, p.Log(), "secret", "Secret")
	if !strings.Contains(p.Log(), "storage_code=2067") {
		t.Errorf("the duplicate's code is not in the log:\n%s", p.Log())
	}
}
