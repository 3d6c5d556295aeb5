package operations

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

var requestLine = regexp.MustCompile(`^time=\S+ level=INFO msg=request method=POST route=/api/users status=201 ` +
	`duration=\S+ bytes=(\d+) request_id=\S+ user=1\n$`)

func TestARequestIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	before := p.Log()
	answer := p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"))
	id := answer.Header.Get("X-Request-Id")
	p.WaitForLog(t, "request_id="+id+" user=1\n")
	line := strings.TrimPrefix(p.Log(), before)
	if parts := requestLine.FindStringSubmatch(line); parts == nil || parts[1] != answer.Header.Get("Content-Length") {
		t.Errorf("the log says %q", line)
	}
}

func TestAClientsRequestIDIsKeptWhenItIsShortAndPlain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for id, kept := range map[string]bool{
		"abc-123": true, "A.b_9": true, strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false, "a b": false, "a=b": false, `"x"`: false, "ada@example.org": false, "é": false,
	} {
		answered := p.Do(t, "GET", "/api/users", "", "X-Request-Id: "+id).Header.Get("X-Request-Id")
		if (answered == id) != kept || answered == "" {
			t.Errorf("%q is answered %q", id, answered)
		}
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "ada@example.org", "a=b")
}

func TestTheLogCanBeJSON(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LOG_FORMAT=json")
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
	p := program.Serve(t)
	quiet := program.Launch(t, program.Path(), "LOG_LEVEL=warn", "PORT="+strings.TrimPrefix(p.URL, "http://127.0.0.1:"))
	program.ExpectRefusal(t, quiet, "address already in use") // an error is still shown
	program.Forbid(t, quiet.Log(), "level=INFO")
}

func TestHealthIsNotLogged(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Do(t, "GET", "/health", "")
	p.List(t)
	p.WaitForLog(t, "route=/api/users")
	program.Forbid(t, p.Log(), "health")
}

func TestNoUserIsEverInTheLog(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room", "LOG_LEVEL=debug")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(refusesSecrets)
	for _, body := range []string{
		program.Body("Secret Name", "secret@example.org"), program.Body("Secret Other", "secret@example.org"),
		program.Body("Secret Bad", "secret2@example.org"),
		`{"name":"Secret","email":"secret@example.org"`, `{"name":"Secret","email":5}`,
		`{"name":"n","email":"n","room":"Secret \u0000"}`, `{"name":"m","email":"m","room":["Secret"]}`,
		`{"name":"Secret Bad","email":"o","room":"Secret"}`,
	} {
		p.Do(t, "POST", "/api/users", body)
	}
	p.Do(t, "PATCH", "/api/users/1", `{"room":"Secret"}`)
	p.Do(t, "PUT", "/api/users/1", `{"name":"n","email":"n","room":{"Secret":1}}`)
	p.Do(t, "GET", "/api/users?room=Secret&limit=1", "")
	p.Do(t, "GET", "/api/users?room=Secret&room=Secret", "")
	p.Do(t, "POST", program.CSV+"?room=Secret", "name,email\nn,p\n")
	p.Do(t, "POST", program.CSV, "name,email,room,Secret\nSecret Bad,secret,Secret,\n")
	p.Do(t, "DELETE", "/api/users/secret@example.org", "")
	p.Do(t, "GET", "/secret@example.org?email=secret@example.org", "")
	p.Do(t, "GET", "/health", "", "User-Agent: secret@example.org")
	other.Do("DROP TABLE users")
	p.Do(t, "POST", "/api/users", program.Body("Secret", "secret3@example.org"))
	answer := p.Do(t, "GET", "/api/users", "")
	p.WaitForLog(t, answer.Header.Get("X-Request-Id"))
	program.Forbid(t, p.Log(), "secret", "Secret")
	if !strings.Contains(p.Log(), duplicateCode) {
		t.Errorf("the duplicate's code is not in the log:\n%s", p.Log())
	}
}

func TestAServerErrorIsAnErrorInTheLogToo(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][]string{
		"text": {"level=ERROR", "status=500", "request_id=it"},
		"json": {`"level":"ERROR"`, `"status":500`, `"request_id":"it"`},
	} {
		p := startQuietly(t, "LOG_LEVEL=warn", "LOG_FORMAT="+format)
		program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
		p.Do(t, "GET", "/api/users", "", "X-Request-Id: it")
		p.Do(t, "GET", "/nowhere", "", "X-Request-Id: it")
		line := p.Line(t, want[2])
		for _, text := range want {
			if !strings.Contains(line, text) {
				t.Errorf("%s is not in %s", text, line)
			}
		}
		if lines := strings.Count(p.Log(), "\n"); lines != 1 {
			t.Errorf("the log has %d lines: %s", lines, p.Log())
		}
	}
}

// startQuietly starts a program whose log does not say where it listens.
func startQuietly(t *testing.T, settings ...string) *program.Program {
	t.Helper()
	apart, url := listenApart(t)
	p := program.Launch(t, program.Path(), append(settings, apart...)...)
	p.URL = url
	program.WaitFor(t, "the program answers", func() bool {
		_, err := p.Send("GET", "/health", "")
		return err == nil
	})
	return p
}

func TestAnUnknownPathIsLoggedWithARoute(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for id, request := range map[string][2]string{
		"unknown-path": {"GET", "/secret"}, "unknown-method": {"PUT", "/api/users"},
		"unknown-below": {"GET", "/api/users/1/secret"},
	} {
		p.Do(t, request[0], request[1], "", "X-Request-Id: "+id)
		line := p.Line(t, "request_id="+id)
		if !regexp.MustCompile(` route=("[^"]+"|[^" ]+) `).MatchString(line) {
			t.Errorf("the route is empty: %s", line)
		}
	}
	program.Forbid(t, p.Log(), "secret")
}
