package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// refusedBodies are requests that are refused before their body is read, by status: the method and path, and headers.
var refusedBodies = []struct {
	status        int
	target, lines string
}{
	{401, "POST " + program.CSV, ""},
	{401, "POST /api/users", ""},
	{403, "POST " + program.CSV, "X-API-Key: " + readKey + "\r\n"},
	{403, "PATCH /api/users/1", "X-API-Key: " + readKey + "\r\n"},
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

// What was refused while every place for an import is taken is refused for the same reason as otherwise.
func TestAccessIsDecidedBeforeAPlaceForAnImportIsTaken(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	key := "X-API-Key: " + fullKey + "\r\n"
	var importing *program.Conn
	for range 8 {
		importing = p.Dial(t)
		importing.Send("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 15\r\n\r\nname,email\n", program.CSV, key)
	}
	program.WaitFor(t, "all places are taken", func() bool { return strings.Count(p.Log(), "import started") == 8 })
	for lines, status := range map[string]int{
		"": 401, "X-API-Key: wrong-key-0123456789\r\n": 401, "X-API-Key: " + readKey + "\r\n": 403, key: 503,
	} {
		conn, began := p.Dial(t), time.Now()
		conn.Send("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 1000\r\n\r\n", program.NDJSON, lines)
		answer := conn.Answer()
		expectPrompt(t, answer, status, began)
		program.ExpectHeader(t, answer, "Retry-After", map[int]string{503: "5"}[status])
		if tooMany := strings.Contains(answer.Body, "Too many files are being imported at once"); tooMany != (status == 503) {
			t.Errorf("%d says %s", status, answer.Body)
		}
	}
	importing.Send("n,1\n")
	importing.Answer().To("an import under way").Expect(t, 200, "…")
	p.Do(t, "POST", program.NDJSON, program.Body("n", "2"), "X-API-Key: "+fullKey).Expect(t, 200, "…") // there is room
}

// Dry runs of a read key have places of their own.
func TestDryRunsOfAReadKeyLeaveTheImportsTheirPlaces(t *testing.T) {
	t.Parallel()
	p := withKeys(t, fullKey)
	refused := 0
	for range 16 {
		conn := p.Dial(t)
		conn.Send("POST %s?dry_run=true HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: 1000\r\n\r\nname,email\n",
			program.CSV, readKey)
	}
	program.WaitFor(t, "the places of dry runs are taken", func() bool {
		refused = strings.Count(p.Log(), "status=503")
		return refused > 0 && refused+strings.Count(p.Log(), "import started") == 16
	})
	p.Do(t, "POST", program.CSV, "name,email\nn,e\n", "X-API-Key: "+fullKey).Expect(t, 200, "…")
}
