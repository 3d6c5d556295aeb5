package files

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAnExportIsTheUsersAsAFileAndRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	p, _ := program.ServeFile(t, exported...)
	const (
		header   = "id,name,email,created_at\r\n"
		ada      = "1,Ada,ada,2026-11-20 15:42:07\r\n"
		king     = "2,\"King, \"\"Martin\"\"\",king,2026-11-20 15:42:07\r\n"
		formula  = "5,=1+2,'@x,\r\n"
		lines    = "7,\"A\r\nB\",lines,\r\n"
		csv      = "text/csv; charset=utf-8"
		ndjson   = "application/x-ndjson"
		filename = `attachment; filename="users-20…-…-….`
	)
	for _, test := range []struct{ path, want, total, next, kind string }{
		{program.CSV, header + ada + king + formula + lines, "", "", csv},
		{program.CSV + "?spreadsheet=true", "\ufeff" + header + ada + king + "5,'=1+2,''@x,\r\n" + lines, "", "", csv},
		{program.CSV + "?order=desc&limit=2&count=true", header + lines + formula, "4", `<?order=desc&limit=2&count=true&after=5>; rel="next"`, csv},
		{program.NDJSON + "?limit=1", `{"id":1,"name":"Ada","email":"ada","created_at":"2026-11-20 15:42:07"}` + "\n", "",
			`<?limit=1&after=1>; rel="next"`, ndjson},
		{program.NDJSON + "?q=nobody", "", "", "", ndjson},
	} {
		answer, head := p.Do(t, "GET", test.path, ""), p.Do(t, "HEAD", test.path, "")
		answer.Expect(t, 200, test.want)
		program.ExpectLength(t, answer)
		head.Expect(t, 200, "")
		for _, of := range []program.Answer{answer, head} {
			program.ExpectHeader(t, of, "X-Total-Count", test.total)
			program.ExpectHeader(t, of, "Link", test.next)
			program.ExpectHeader(t, of, "ETag", answer.Header.Get("ETag"))
			program.ExpectHeader(t, of, "Content-Type", test.kind)
			program.ExpectHeader(t, of, "Content-Disposition", filename+map[string]string{csv: "csv", ndjson: "ndjson"}[test.kind]+`"`)
		}
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
	for headers, want := range map[string]struct {
		status int
		body   string
	}{
		"Range: bytes=0-":                      {206, whole.Body},
		"Range: bytes=10-19\nIf-Range: " + tag: {206, whole.Body[10:20]},
		"Range: bytes=10-\nIf-Range: \"x\"":    {200, whole.Body},
		"Range: bytes=100000-":                 {416, "invalid range: failed to overlap\n"},
		"Range: items=0-5":                     {200, whole.Body}, // a unit that is not known
		"If-None-Match: " + tag:                {304, ""},
	} {
		p.Ask(t, "GET "+program.CSV+"\n"+headers, "").To(headers).Expect(t, want.status, want.body)
	}
	p.Create(t, "Alan", "alan")
	p.Ask(t, "GET "+program.CSV+"\nRange: bytes=10-\nIf-Range: "+tag, "").Expect(t, 200, whole.Body+"2,Alan,…")
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
