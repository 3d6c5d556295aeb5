package files

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestAnExportIsTheUsersAsAFileAndRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	p, _ := program.ServeFile(t, exported...)
	began := time.Now()
	const header = "id,name,email,created_at\r\n"
	const ada = "1,Ada,ada,2026-11-20 15:42:07\r\n"
	const king = "2,\"King, \"\"Martin\"\"\",king,2026-11-20 15:42:07\r\n"
	const formula = "5,=1+2,'@x,\r\n"
	const lines = "7,\"A\r\nB\",lines,\r\n"
	for _, test := range []struct{ path, want, total, next string }{
		{program.CSV, header + ada + king + formula + lines, "", ""},
		{program.CSV + "?spreadsheet=true", "\ufeff" + header + ada + king + "5,'=1+2,''@x,\r\n" + lines, "", ""},
		{program.CSV + "?order=desc&limit=2&count=true", header + lines + formula, "4",
			`<?order=desc&limit=2&count=true&after=5>; rel="next"`},
		{program.CSV + "?after=5&limit=2", header + lines, "", ""},
		{program.NDJSON + "?limit=1", `{"id":1,"name":"Ada","email":"ada","created_at":"2026-11-20 15:42:07"}` + "\n", "",
			`<?limit=1&after=1>; rel="next"`},
		{program.NDJSON + "?q=nobody", "", "", ""},
	} {
		answer := p.Do(t, "GET", test.path, "")
		answer.Expect(t, 200, test.want)
		head := p.Do(t, "HEAD", test.path, "")
		head.Expect(t, 200, "")
		for _, of := range []program.Answer{answer, head} {
			program.ExpectHeader(t, of, "X-Total-Count", test.total)
			program.ExpectHeader(t, of, "Link", test.next)
			program.ExpectHeader(t, of, "ETag", answer.Header.Get("ETag"))
			program.ExpectHeader(t, of, "Content-Length", answer.Header.Get("Content-Length"))
			expectFileHeaders(t, test.path, of, began)
		}
		program.ExpectLength(t, answer)
	}
	for path, want := range map[string]string{
		program.CSV + "?lmit=1":              program.UnknownParameter("lmit", "an export", "spreadsheet"),
		program.CSV + "?spreadsheet=1":       "The parameter spreadsheet must be true or false",
		program.NDJSON + "?spreadsheet=true": program.UnknownParameter("spreadsheet", "a list"),
	} {
		p.Do(t, "GET", path, "").Expect(t, 400, program.ErrorBody(want))
	}
}

// A download that was cut off goes on where it was, unless the users have changed since.
func TestADownloadGoesOn(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	whole := p.Do(t, "GET", program.CSV, "")
	tag := whole.Header.Get("ETag")
	for _, test := range []struct {
		headers []string
		status  int
		body    string
	}{
		{[]string{"Range: bytes=0-"}, 206, whole.Body},
		{[]string{"Range: bytes=10-19", "If-Range: " + tag}, 206, whole.Body[10:20]},
		{[]string{"Range: bytes=10-", `If-Range: "x"`}, 200, whole.Body},
		{[]string{"Range: bytes=100000-"}, 416, "invalid range: failed to overlap\n"},
		{[]string{"If-None-Match: " + tag}, 304, ""},
		{[]string{`If-Match: "x"`}, 200, whole.Body},
	} {
		p.Do(t, "GET", program.CSV, "", test.headers...).To(fmt.Sprint(test.headers)).Expect(t, test.status, test.body)
	}
	p.Create(t, "Alan", "alan")
	changed := p.Do(t, "GET", program.CSV, "", "Range: bytes=10-", "If-Range: "+tag)
	if changed.Status != 200 || !strings.HasPrefix(changed.Body, whole.Body) || len(changed.Body) == len(whole.Body) {
		t.Errorf("of other users: answered %d %q", changed.Status, changed.Body)
	}
}

// expectFileHeaders expects the name of a file of today, which may be another day than when the test began.
func expectFileHeaders(t *testing.T, path string, answer program.Answer, began time.Time) {
	t.Helper()
	kind, ending := "text/csv; charset=utf-8", "csv"
	if strings.HasPrefix(path, program.NDJSON) {
		kind, ending = "application/x-ndjson", "ndjson"
	}
	named := func(day time.Time) bool {
		name := fmt.Sprintf(`attachment; filename="users-%s.%s"`, day.UTC().Format(time.DateOnly), ending)
		return answer.Header.Get("Content-Disposition") == name
	}
	if answer.Header.Get("Content-Type") != kind || !named(began) && !named(time.Now()) {
		t.Errorf("%s: %v", path, answer.Header)
	}
}

// A slow reader gets the users of one moment, and does not keep the -wal file from being written back meanwhile.
func TestASlowReaderOfAnExportGetsOneMomentAndHoldsNothing(t *testing.T) {
	t.Parallel()
	const n = 100_000
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(n)
	conn := p.Dial(t)
	conn.Buffer(64 << 10)
	conn.Send("GET %s HTTP/1.0\r\nHost: x\r\n\r\n", program.CSV)
	conn.Begin()
	expectNoReads := func() {
		program.WaitFor(t, "the database is not read any more", func() bool { return readsNothing(t, p, other) })
	}
	expectNoReads()
	p.Delete(t, n) // the last one, which the reader is far away from
	for i := range 30 {
		p.Create(t, strings.Repeat("n", 500_000), fmt.Sprint("meanwhile", i)) // 15 MB
	}
	expectNoReads()
	conn.Buffer(4 << 20)
	text, clean := conn.Rest()
	_, text, _ = strings.Cut(text, "\r\n\r\n")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !clean || len(rows) != n+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, row := range rows[1:] {
		if row[0] != fmt.Sprint(i+1) || row[1] != fmt.Sprint("User ", i+1) {
			t.Fatalf("row %d is %v", i+1, row)
		}
	}
	program.ExpectNoSpool(t, p)
}
