package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// What hostile requests begin and end with, beside [program.PostUsers] and [program.PostChunks].
const (
	getHealth   = "GET /health HTTP/1.1\r\nHost: x\r\n"
	endOfChunks = "0\r\n\r\n"
)

// Requests that no honest client sends. Each must be answered with a 4xx, 501 or 505, or with a closed connection.
var hostile = []struct{ name, request string }{
	{"no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"},
	{"a NUL in a header", getHealth + "A: \x00\r\n\r\n"},
	{"no host", "GET /health HTTP/1.1\r\n\r\n"},
	{"two hosts", getHealth + "Host: b\r\n\r\n"},
	{"an unknown version", "GET /health HTTP/9.9\r\nHost: x\r\n\r\n"},
	{"an unknown method", "BREW /api/users HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"an escaped slash", "DELETE /api/users/1%2f2 HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"a very long header", getHealth + "A: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"},
	{"two lengths", program.PostUsers + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
	{"a very large length", program.PostUsers + "Content-Length: 9000000000000000000\r\n\r\n" + strings.Repeat("a", 1<<20+1)},
	{"an unknown coding", program.PostUsers + "Transfer-Encoding: gzip\r\n\r\n{}"},
	{"a chunk size that is not a number", program.PostChunks + "xyz\r\n{}\r\n" + endOfChunks},
	{"a very long chunk extension", program.PostChunks + "2;" + strings.Repeat("a", 1<<20) + "\r\n{}\r\n" + endOfChunks},
	{"a body of many chunks that is too large",
		program.PostChunks + strings.Repeat("400\r\n"+strings.Repeat("a", 1024)+"\r\n", 1025) + endOfChunks},
	{"an unknown expectation", program.PostUsers + "Expect: miracles\r\nContent-Length: 2\r\n\r\n{}"},
}

// Each hostile request has a good one behind it, which asks for the connection to be closed. The test reads until
// then, so that it has seen the answer to everything it sent.
func TestHostileRequestsAreRefusedAndDoNoHarm(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			conn := p.Dial(t)
			// In the background: the program may close the connection before it has read everything.
			go conn.Send("%s", h.request+getHealth+"Connection: close\r\n\r\n")
			answers := conn.Answers()
			for i, answer := range answers {
				good := i > 0 && i == len(answers)-1 && answer.Body == `{"status":"ok"}`
				refused := answer.Status >= 400 && answer.Status <= 499 || answer.Status == 501 || answer.Status == 505
				if !good && !refused {
					t.Errorf("answer %d is %d %s, want a refusal", i+1, answer.Status, answer.Body)
				}
				program.Forbid(t, answer.Body, "goroutine", "net/http", "json:")
			}
			p.ExpectUsers(t, "Ada")
		})
	}
	p.Stop(t) // every line is written
	program.Forbid(t, p.Log(), "goroutine", "level=ERROR")
}

// A request with a length and chunks has two ends, and a proxy before the program may have taken the other one: what
// follows may be another client's. RFC 9112, section 6.3: close the connection after the answer.
func TestNothingBehindARequestWithTwoEndsIsCarriedOut(t *testing.T) {
	t.Parallel()
	const both = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
	const body = "1f\r\n" + `{"name":"Alan","email":"a@b.c"}` + "\r\n" + endOfChunks
	p := program.Serve(t)
	for name, request := range map[string]string{
		"an empty body":                 program.PostUsers + both + endOfChunks,
		"a body that creates":           program.PostUsers + both + body,
		"a list":                        "GET /api/users HTTP/1.1\r\nHost: x\r\n" + both + endOfChunks,
		"a browser's from another site": program.PostUsers + "Origin: https://evil.example\r\n" + both + endOfChunks,
	} {
		id := p.Create(t, "Ada", name)
		conn := p.Dial(t)
		conn.Send("%sDELETE /api/users/%d HTTP/1.1\r\nHost: x\r\n\r\n", request, id)
		if answers := conn.Answers(); len(answers) > 1 {
			t.Errorf("%s: %d answers came, the second is %d %s", name, len(answers), answers[1].Status, answers[1].Body)
		}
		p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, "…")
	}
	conn := p.Dial(t)
	conn.Send("%s%s", program.PostChunks, strings.Replace(body, "a@", "b@", 1)) // without a length
	conn.Answer().To("chunks").Expect(t, 201, "…")
}

// refusedBodies are requests that are refused before their body is read, by status: the method and path, and headers.
var refusedBodies = []struct {
	status        int
	target, lines string
}{
	{401, "POST " + program.CSV, ""},
	{403, "POST " + program.CSV, "X-API-Key: " + readKey + "\r\n"},
	{415, "POST " + program.CSV, "X-API-Key: " + fullKey + "\r\nContent-Type: multipart/form-data; boundary=x\r\n"},
	{400, "POST " + program.CSV + "?dryrun=true", "X-API-Key: " + fullKey + "\r\n"},
	{404, "POST /nothing", ""},
	{404, "GET /api/users/7", "X-API-Key: " + readKey + "\r\n"},
	{405, "PUT " + program.CSV, "X-API-Key: " + fullKey + "\r\n"},
	{403, "POST /api/users", "X-API-Key: " + fullKey + "\r\nSec-Fetch-Site: cross-site\r\n"},
	{421, "POST " + program.CSV, "X-API-Key: " + fullKey + "\r\nHost: y\r\nX-Forwarded-Host: x\r\n"},
	{200, "GET /health", ""},
}

// A client that announces a body and sends none of it would otherwise hold its connection for as long as it likes.
func TestARequestThatIsRefusedIsAnsweredBeforeItsBody(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey, "ALLOWED_HOSTS=x")
	for _, refused := range refusedBodies {
		for _, length := range []string{"Content-Length: 1000000", "Content-Length: 10", "Transfer-Encoding: chunked"} {
			t.Run(fmt.Sprint(refused.status, refused.target, length), func(t *testing.T) {
				t.Parallel()
				host := map[bool]string{false: "Host: x\r\n"}[refused.status == 421]
				conn, began := p.Dial(t), time.Now()
				conn.Send("%s HTTP/1.1\r\n%s%s%s\r\n\r\n", refused.target, host, refused.lines, length)
				answer := conn.Answer()
				expectPrompt(t, answer, refused.status, began)
				if refused.status == 421 || strings.Contains(refused.lines, "cross-site") { // before its key is read
					program.ExpectHeader(t, answer, "X-API-Key-Access", "")
					program.ExpectHeader(t, answer, "WWW-Authenticate", "")
				}
			})
		}
	}
}

// expectPrompt fails the test unless an answer came long before the time for a body was over.
func expectPrompt(t *testing.T, answer program.Answer, status int, began time.Time) {
	t.Helper()
	if took := time.Since(began); answer.Status != status || took > 15*time.Second {
		t.Errorf("answered %d %s after %s, want %d", answer.Status, answer.Body, took, status)
	}
}

// What was refused while every place for an import is taken is refused for the same reason as otherwise, and dry runs of a read
// key have places of their own.
func TestAccessIsDecidedBeforeAPlaceForAnImportIsTaken(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	const full, reads = "X-API-Key: " + fullKey, "X-API-Key: " + readKey
	begin := func(query, key string) *program.Conn {
		conn := p.Dial(t)
		conn.Send("POST %s%s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 15\r\n\r\nname,email\n", program.CSV, query, key)
		return conn
	}
	for range 16 {
		begin("?dry_run=true", reads)
	}
	program.WaitFor(t, "the places of dry runs are taken", func() bool {
		refused := strings.Count(p.Log(), "status=503")
		return refused > 0 && refused+strings.Count(p.Log(), "import started") == 16
	})
	dryRuns := strings.Count(p.Log(), "import started")
	var importing *program.Conn
	for range 8 {
		importing = begin("", full)
	}
	program.WaitFor(t, "all places are taken", func() bool { return strings.Count(p.Log(), "import started") == dryRuns+8 })
	for key, status := range map[string]int{"A: b": 401, "X-API-Key: wrong-key-0123456789": 401, reads: 403, full: 503} {
		began := time.Now()
		answer := begin("", key).Answer()
		expectPrompt(t, answer, status, began)
		program.ExpectHeader(t, answer, "Retry-After", map[int]string{503: "5"}[status])
		if status == 503 {
			answer.Expect(t, 503, "…Too many files are being imported at once…")
		}
	}
	importing.Send("n,1\n")
	importing.Answer().To("an import under way").Expect(t, 200, "…")
	p.Do(t, "POST", program.NDJSON, program.Body("n", "2"), full).Expect(t, 200, "…") // there is room
}
