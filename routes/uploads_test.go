package routes

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"users-api/models"
)

// upload begins to send a file, of which so many bytes are announced.
func (s *service) upload(t *testing.T, length int) *wire {
	t.Helper()
	conn := s.dial(t)
	conn.send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", csvPath, length)
	return conn
}

const uploaded = `{"created":8,"updated":0,"skipped":0,"deleted":0,"ignored_columns":[]}`

func TestAFileThatMakesProgressIsNotCutOff(t *testing.T) {
	const pause = 250 * time.Millisecond
	s := start(t, func(l *limits) { l.body = 4 * pause })
	conn := s.upload(t, len("name,email\n")+8*len("n,0\n"))
	conn.send("name,email\n")
	for i := range 8 {
		conn.send("n,%d\n", i)
		time.Sleep(pause) // all in all twice as long as a body may take
	}
	if got := conn.answer(); got.status != 200 || got.body != uploaded {
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

func TestAFileThatStopsIsGivenUp(t *testing.T) {
	s := start(t, func(l *limits) { l.body = 150 * time.Millisecond })
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

// storing takes longer to store a file than a file may stop for.
type storing struct {
	models.Users
	time time.Duration
}

func (s storing) Import(
	ctx context.Context, rows iter.Seq2[models.ImportRow, error], options models.ImportOptions,
) (models.Imported, error) {
	done, err := s.Users.Import(ctx, rows, options)
	select {
	case <-ctx.Done():
		return done, ctx.Err()
	case <-time.After(s.time):
		return done, err
	}
}

func TestTheTimeForAFileEndsWithIt(t *testing.T) {
	const stall = 100 * time.Millisecond
	s := startWith(t, storing{stored(t), 5 * stall}, nil, func(l *limits) { l.body = stall })
	got := s.do(t, "POST", csvPath, "name,email\nn,1\n")
	if got.status != 200 {
		t.Errorf("answered %d %s", got.status, got.body)
	}
	if next := s.do(t, "GET", "/health", ""); next.status != 200 {
		t.Errorf("the next request is answered %d", next.status)
	}
}

func TestAFileMayBeLargerThanOtherBodies(t *testing.T) {
	s := start(t, func(l *limits) { l.importBytes = 2 << 20 })
	rows := func(bytes int) string { return "name,email\n" + strings.Repeat("n", bytes) + ",e\n" }
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", csvPath, rows(1 << 20), 200},
		{"POST", csvPath, rows(2 << 20), 413},
		{"POST", ndjsonPath, strings.Repeat("\n", 2<<20+1), 413},
		{"POST", "/api/users", rows(1 << 20), 413},
		{"PUT", csvPath, rows(1), 405},
		{"DELETE", ndjsonPath, "", 405},
	} {
		got := s.do(t, test.method, test.path, test.body)
		if got.status != test.status || test.status == 413 && !strings.Contains(got.body,
			"The request body is larger than ") {
			t.Errorf("%s %s: %d %s, want %d", test.method, test.path, got.status, got.body, test.status)
		}
	}
}

func TestOnlySoManyFilesArriveAtOnce(t *testing.T) {
	s := start(t, func(l *limits) { l.imports = 1 })
	first := s.upload(t, len("name,email\nn,1\n"))
	first.send("name,email\n")
	s.waitForLog(t, "import started")
	want := `{"error":"Too many files are being imported at once: send it again later"}`
	if got := s.do(t, "POST", ndjsonPath, "{}"); got.status != 503 || got.body != want {
		t.Errorf("the second is answered %d %s", got.status, got.body)
	}
	first.send("n,1\n")
	if got := first.answer(); got.status != 200 {
		t.Errorf("the first is answered %d %s", got.status, got.body)
	}
	if got := s.do(t, "POST", ndjsonPath, `{"name":"n","email":"2"}`); got.status != 200 {
		t.Errorf("the third is answered %d %s", got.status, got.body)
	}
}

func TestAnImportIsLoggedWithoutAnyUser(t *testing.T) {
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
		for _, secret := range []string{"Ada", "ada@", "secret"} {
			if strings.Contains(text, secret) {
				t.Errorf("the log says %s:\n%s", secret, text)
			}
		}
	}
}

// A client that goes away ends the import of its file.
func TestAFileWhoseClientIsGoneIsNotStored(t *testing.T) {
	s := startWith(t, storing{stored(t), patience}, nil)
	conn := s.upload(t, len("name,email\nn,1\n"))
	conn.send("name,email\nn,1\n")
	s.waitForLog(t, "import started")
	_ = conn.Close()
	s.waitForLog(t, "status=499")
}

// An export is broken off where a list is, so that no cut file looks whole.
func TestAFileThatStorageBreaksOffIsReset(t *testing.T) {
	users := breaking{stored(t), nil, longUsers(3, full)}
	for _, path := range []string{csvPath, ndjsonPath, csvPath + "?spreadsheet=true&order=desc"} {
		s := startWith(t, users, nil)
		conn := s.dial(t)
		conn.send("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		if text, err := conn.rest(); err == nil {
			t.Errorf("%s: %d bytes that end as if they were all", path, len(text))
		}
	}
	s := startWith(t, breaking{stored(t), nil, longUsers(1, full)}, nil)
	got := s.do(t, "GET", csvPath, "")
	if got.status != 500 || got.header.Get("Content-Disposition") != "" ||
		got.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("a failure before the first byte: %d %v %s", got.status, got.header, got.body)
	}
}
