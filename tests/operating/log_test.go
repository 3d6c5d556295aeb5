package operating

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

var requestLine = regexp.MustCompile(`^time=\S+ level=INFO msg=request method=POST route=/api/users status=201 ` +
	`duration=\S+ bytes=(\d+) request_id=\S+ user=1\n$`)

func TestARequestIsOneLineInTheLogAndHealthIsNone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	before := p.Log()
	p.Do(t, "GET", "/health", "")
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
		strings.Repeat("a", 65): false, "a=b": false, "ada@example.org": false, "é": false,
	} {
		answered := p.Do(t, "GET", "/api/users", "", "X-Request-Id: "+id).Header.Get("X-Request-Id")
		if (answered == id) != kept || answered == "" {
			t.Errorf("%q is answered %q", id, answered)
		}
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "ada@example.org", "a=b")
}

// A method is any word of a client, and may be as long as all headers together.
func TestALongMethodIsCutInTheLog(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Do(t, strings.Repeat("M", 30_000), "/api/users", "", "X-Request-Id: long").Expect(t, 405, "…")
	program.Expect(t, "the line", p.Line(t, "request_id=long"), "… method="+strings.Repeat("M", 20)+" route=…")
}

func TestNoUserIsEverInTheLog(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room", "LOG_LEVEL=debug")
	other := program.OpenOther(t, p.DatabasePath())
	duplicate, refusal := "storage_code=2067", `CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'Secret Bad'
		BEGIN SELECT RAISE(ABORT, 'no secret@example.org here'); END`
	if program.PostgreSQL {
		duplicate, refusal = "storage_code=23505", `CREATE FUNCTION r() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.name = 'Secret Bad' THEN RAISE 'no secret@example.org here'; END IF; RETURN NEW; END $$;
			CREATE TRIGGER r BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION r()`
	}
	other.Do(refusal)
	for _, body := range []string{
		program.Body("Secret Name", "secret@example.org"), program.Body("Secret Other", "secret@example.org"),
		program.Body("Secret Bad", "secret2@example.org"),
		`{"name":"Secret","email":"secret@example.org"`, `{"name":"Secret","email":5}`,
		`{"name":"n","email":"n","room":"Secret \u0000"}`, `{"name":"m","email":"m","room":["Secret"]}`,
		`{"name":"Secret Bad","email":"o","room":"Secret"}`,
	} {
		p.Do(t, "POST", "/api/users", body)
	}
	for _, request := range [][3]string{
		{"PATCH", "/api/users/1", `{"room":"Secret"}`},
		{"PUT", "/api/users/1", `{"name":"n","email":"n","room":{"Secret":1}}`},
		{"GET", "/api/users?room=Secret&limit=1", ""},
		{"POST", program.CSV + "?room=Secret", "name,email\nn,p\n"},
		{"POST", program.CSV, "name,email,room,Secret\nSecret Bad,secret,Secret,\n"},
		{"DELETE", "/api/users/secret@example.org", ""},
		{"GET", "/secret@example.org?email=secret@example.org", ""},
	} {
		p.Do(t, request[0], request[1], request[2], "User-Agent: secret@example.org")
	}
	for id, request := range map[string]string{
		"unknown-path": "GET /secret", "unknown-method": "PUT /api/users", "unknown-below": "GET /api/users/1/secret",
	} {
		method, path, _ := strings.Cut(request, " ")
		p.Do(t, method, path, "", "X-Request-Id: "+id)
		if line := p.Line(t, "request_id="+id); !regexp.MustCompile(` route=("[^"]+"|[^" ]+) `).MatchString(line) {
			t.Errorf("%s has no route: %s", request, line)
		}
	}
	other.Do("DROP TABLE users")
	p.Do(t, "POST", "/api/users", program.Body("Secret", "secret3@example.org"))
	answer := p.Do(t, "GET", "/api/users", "")
	p.WaitForLog(t, answer.Header.Get("X-Request-Id"))
	program.Forbid(t, p.Log(), "secret", "Secret")
	program.Expect(t, "the log", p.Log(), "…"+duplicate+"…")
}

// LOG_LEVEL=warn hides each line that is no more than a request, and no error.
func TestAServerErrorIsAnErrorInTheLogToo(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][]string{
		"text": {"request_id=it", "level=ERROR", "status=500"}, "json": {`"request_id":"it"`, `"level":"ERROR"`, `"status":500`},
	} {
		p := launchApart(t, "LOG_LEVEL=warn", "LOG_FORMAT="+format)
		program.WaitFor(t, "the program answers", func() bool {
			_, err := p.Send("GET", "/health", "")
			return err == nil
		})
		program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
		p.Do(t, "GET", "/nowhere", "", "X-Request-Id: it")
		p.Do(t, "GET", "/api/users", "", "X-Request-Id: it")
		line := p.Line(t, want[0])
		program.Expect(t, "the line", line, "…"+want[1]+"…"+want[2]+"…")
		program.Expect(t, "whether the line is JSON", json.Valid([]byte(line)), format == "json")
		program.Expect(t, "how many lines the log has", strings.Count(p.Log(), "\n"), 1)
	}
}

func TestAStartThatFailsIsLoggedInTheFormatThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"PORT=abc", "LOG_LEVEL=loud", "DATABASE_URL=mysql://127.0.0.1/users"} {
		p := program.Launch(t, program.Path(), "LOG_FORMAT=json", "LOG_LEVEL=error", bad)
		program.ExpectRefusal(t, p)
		var line struct{ Level, Msg, Error string }
		err := json.Unmarshal([]byte(p.Log()), &line)
		if err != nil || line.Level != "ERROR" || line.Msg != "users-api stopped" || line.Error == "" {
			t.Errorf("with %s it logs %q, %v", bad, p.Log(), err)
		}
	}
}
