package operating

import (
	"encoding/json"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A method is any word of a client, and may be as long as all headers together.
func TestARequestIsOneLineInTheLogAndHealthIsNone(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	before := p.Log()
	p.Do(t, "GET", "/health", "")
	answer := p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"))
	id := answer.Header.Get("X-Request-Id")
	p.WaitForLog(t, "request_id="+id+" user=1\n")
	program.Expect(t, "the log", strings.TrimPrefix(p.Log(), before), "time=… level=INFO msg=request method=POST route=/api/users status=201 "+
		"duration=… bytes="+answer.Header.Get("Content-Length")+" request_id="+id+" user=1\n")
	p.Do(t, strings.Repeat("M", 30_000), "/api/users", "", "X-Request-Id: long").Expect(t, 405, "…")
	program.Expect(t, "the line", p.Line(t, "request_id=long"), "… method="+strings.Repeat("M", 20)+" route=…")
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
	for _, request := range [][2]string{
		{"POST /api/users", program.Body("Secret Name", "secret@example.org")},
		{"POST /api/users", program.Body("Secret Other", "secret@example.org")},
		{"POST /api/users", program.Body("Secret Bad", "secret2@example.org")},
		{"POST /api/users", `{"name":"Secret","email":"secret@example.org"`},
		{"POST /api/users", `{"name":"m","email":"m","room":["Secret"]}`},
		{"POST /api/users", `{"name":"n","email":"n","room":"Secret \u0000"}`},
		{"PATCH /api/users/1", `{"room":"Secret"}`},
		{"GET /api/users?room=Secret&limit=1", ""},
		{"POST " + program.CSV + "?room=Secret", "name,email\nn,p\n"},
		{"POST " + program.CSV, "name,email,room,Secret\nSecret Bad,secret,Secret,\n"},
		{"DELETE /api/users/secret@example.org", ""},
		{"GET /secret@example.org?email=secret@example.org\nX-Request-Id: no-path", ""},
		{"PUT /api/users\nX-Request-Id: no-method", ""},
	} {
		p.Ask(t, request[0], request[1], "User-Agent: secret@example.org")
	}
	for _, id := range []string{"no-path", "no-method"} {
		program.Forbid(t, p.Line(t, "request_id="+id), " route= ", " route=\"\"")
	}
	other.Do("DROP TABLE users")
	p.Do(t, "POST", "/api/users", program.Body("Secret", "secret3@example.org"))
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "secret", "Secret")
	program.Expect(t, "the log", p.Log(), "…"+duplicate+"…")
}

// LOG_LEVEL=warn hides each line that is no more than a request, and no error.
func TestAServerErrorIsAnErrorInTheLogToo(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "…level=ERROR…status=500…request_id=it…", "json": `{…"level":"ERROR"…"status":500…"request_id":"it"…}` + "\n",
	} {
		p := launchApart(t, "LOG_LEVEL=warn", "LOG_FORMAT="+format)
		program.WaitFor(t, "the program answers", func() bool {
			_, err := p.Send("GET", "/health", "")
			return err == nil
		})
		program.OpenOther(t, p.DatabasePath()).Do("DROP TABLE users")
		p.Do(t, "GET", "/nowhere", "")
		p.Do(t, "GET", "/api/users", "", "X-Request-Id: it")
		line := p.Line(t, "request_id")
		program.Expect(t, "the line", line, want)
		program.Expect(t, "whether the line is JSON", json.Valid([]byte(line)), format == "json")
		program.Expect(t, "how many lines the log has", strings.Count(p.Log(), "\n"), 1)
	}
}

func TestAStartThatFailsIsLoggedInTheFormatThatWasAskedFor(t *testing.T) {
	t.Parallel()
	p := program.Launch(t, program.Path(), "LOG_FORMAT=json", "LOG_LEVEL=error", "PORT=abc")
	program.ExpectRefusal(t, p)
	program.Expect(t, "the log", p.Log(), `{…"level":"ERROR","msg":"users-api stopped","error":"…"…}`+"\n")
}
