package routes

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/models"
)

// upload begins to send a file, of which length bytes are announced.
func (s *service) upload(t *testing.T, length int) *wire {
	t.Helper()
	conn := s.dial(t)
	conn.send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", csvPath, length)
	return conn
}

const uploaded = `{"created":8,"updated":0,"skipped":0,"deleted":0,"ignored_columns":[]}`

func TestAFileThatMakesProgressIsNotCutOff(t *testing.T) {
	t.Parallel()
	const pause = 250 * time.Millisecond
	s := start(t, func(l *limits) { l.behind, l.rate = 4*pause, len("n,0\n") }) // four times as fast as it must
	conn := s.upload(t, len("name,email\n")+8*len("n,0\n"))
	conn.send("name,email\n")
	for i := range 8 {
		conn.send("n,%d\n", i)
		time.Sleep(pause) // all in all twice as long as it may fall behind
	}
	if got := conn.answer(); got.status != 200 || got.body != uploaded {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

func TestAFileThatStopsIsGivenUp(t *testing.T) {
	t.Parallel()
	s := start(t, func(l *limits) { l.behind = 150 * time.Millisecond })
	for _, sent := range []string{"", "name,em", "name,email\nn,1\n"} {
		conn := s.upload(t, 1000)
		conn.send("%s", sent)
		if got := conn.answer(); got.status != 408 {
			t.Errorf("after %q: %d %s", sent, got.status, got.body)
		}
	}
	if n, err := s.Count(t.Context(), models.Query{}); n != 0 || err != nil {
		t.Errorf("%d users are stored, %v", n, err)
	}
}

// A file that always brings something, but less than it must, is given up too: it would hold its slot for ever.
func TestAFileThatComesTooSlowlyIsGivenUp(t *testing.T) {
	t.Parallel()
	for path, line := range map[string]string{csvPath: "name,email\n", ndjsonPath: "\n"} {
		s := start(t, func(l *limits) { l.behind, l.rate = 200*time.Millisecond, 1<<20 })
		conn := s.dial(t)
		conn.send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n", path)
		answered := make(chan struct{})
		go func() {
			for tick := time.NewTicker(20 * time.Millisecond); ; { // the slowness is what is tried
				select {
				case <-answered:
					return
				case <-tick.C:
					_, _ = conn.Write([]byte(line))
				}
			}
		}()
		if got := conn.answer(); got.status != 408 {
			t.Errorf("%s is answered %d %s", path, got.status, got.body)
		}
		close(answered)
	}
}

// The time that a file has to arrive ends with it, also where its last line has no end: a reader asks once more then.
func TestTheTimeForAFileEndsWithIt(t *testing.T) {
	t.Parallel()
	requests := map[string]string{
		"of a known length": "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		"in chunks":         "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
	}
	for path, file := range map[string]string{csvPath: "name,email\nn,1", ndjsonPath: `{"name":"n","email":"1"}`} {
		for kind, request := range requests {
			for end, text := range map[string]string{"a last line without an end": file, "a last line": file + "\n"} {
				t.Run(fmt.Sprintf("%s %s, with %s", path, kind, end), func(t *testing.T) {
					t.Parallel()
					if got := storeSlowly(t, fmt.Sprintf(request, path, len(text), text)); got.status != 200 {
						t.Errorf("it is answered %d %s", got.status, got.body)
					}
				})
			}
		}
	}
}

// storeSlowly imports a file while another program holds the write lock for longer than the file may take to arrive.
func storeSlowly(t *testing.T, request string) reply {
	t.Helper()
	const behind = 100 * time.Millisecond
	s := start(t, func(l *limits) { l.body, l.behind = behind, behind })
	other, err := sql.Open("sqlite", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	conn := s.dial(t)
	conn.send("%s", request)
	s.waitForLog(t, "import started")
	time.Sleep(3 * behind) // the slowness is what is tried
	_ = other.Close()
	return conn.answer()
}

func TestAnImportIsLoggedWithoutAnyUser(t *testing.T) {
	t.Parallel()
	const twice = "name,email,secret\nAda Lovelace,ada@example.org,1\nA,ada@example.org,2\n"
	const ada = `{"name":"Ada Lovelace","email":"ada@example.org"}`
	for _, test := range []struct{ path, body, started, ended string }{
		{csvPath + "?dry_run=false", twice, "route=/api/users.csv dry_run=false",
			"stored=false rows=2 created=0 updated=0 skipped=0 deleted=0"},
		{csvPath + "?dry_run=true", "name,email\nAda,ada@example.org\n", "route=/api/users.csv dry_run=true",
			"stored=false rows=1 created=1 updated=0 skipped=0 deleted=0"},
		{ndjsonPath + "?dry_run=true", ada, "route=/api/users.ndjson dry_run=true",
			"stored=false rows=1 created=1 updated=0 skipped=0 deleted=0"},
		{ndjsonPath, ada, "route=/api/users.ndjson dry_run=false",
			"stored=true rows=1 created=1 updated=0 skipped=0 deleted=0"},
	} {
		s := start(t)
		s.do(t, "POST", test.path, test.body, "X-Request-Id: mine")
		_ = s.end(t)
		text := s.log.String()
		for _, want := range []string{
			`msg="import started" request_id=mine ` + test.started, `msg="import ended" request_id=mine ` + test.ended,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not say %s:\n%s", want, text)
			}
		}
		if last := text[strings.LastIndex(text, "msg=request"):]; strings.Contains(last, "created=1") != strings.Contains(text, "stored=true") {
			t.Errorf("the line of the request says %s", last)
		}
		for _, secret := range []string{"Ada", "ada@", "secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("the log says %s:\n%s", secret, text)
			}
		}
	}
}
