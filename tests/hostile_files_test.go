package tests

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestHostileFilesAreRefusedInBoundedMemory(t *testing.T) {
	t.Parallel()
	size := int64(32 << 20)
	if *long > 0 {
		size = 512 << 20
	}
	p := start(t)
	p.Create(t, "Ada", "ada")
	for _, test := range []struct {
		name, path, begin, again string
		status                   int
		says                     string
	}{
		{"a quote that never ends", csvPath, "name,email\n\"", "a,\n", 400, "a quote that ends a value may be missing"},
		{"one line", csvPath, "", "name,email", 400, "The header of the file is longer than 64 KiB"},
		{"one line behind the header", csvPath, "name,email\n", "x", 400, "The row in line 2 is longer than 4 MiB"},
		{"columns without end", csvPath, "name,email\n", ",", 400, "The row in line 2 has more than 16384 values"},
		{"NUL bytes", csvPath, "", "\x00", 400, "The header of the file has NUL bytes"},
		{"a header of 1 MiB", csvPath, strings.Repeat("name,email,", 100_000) + "\n", "a,", 400,
			"The header of the file is longer"},
		{"gzip", csvPath, "\x1f\x8b\x08", "\x00", 400, "The file is compressed"},
		{"gzip as NDJSON", ndjsonPath, "\x1f\x8b\x08", "\x00", 400, "The file is compressed"},
		{"rows that are all refused", csvPath, "name,email\n", "\xff,\xff\n", 422,
			"rows cannot be imported; nothing was stored"},
		{"one line of NDJSON", ndjsonPath, "", "{", 422,
			`1 of 1 row cannot be imported; nothing was stored","rows":[{"line":1,"error":"The line is longer than 4 MiB"}]`},
		{"NUL bytes as NDJSON", ndjsonPath, "", strings.Repeat("\x00", 63) + "\n", 422, "The request body is not valid JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := p.Dial(t)
			request.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", test.path, size)
			go func() {
				_, _ = io.Copy(request, endless(test.begin, test.again,
					size))
			}() // it is cut off where it is refused
			if answer := request.Answer(); answer.Status != test.status || !strings.Contains(answer.Body, test.says) {
				t.Errorf("answered %d %.500s", answer.Status, answer.Body)
			}
		})
	}
	if peak := p.Memory(t, "VmHWM"); peak > program.MemoryBound(192<<20) {
		t.Errorf("it took %d MiB", peak>>20)
	}
	if users := p.List(t); len(users) != 1 {
		t.Errorf("%d users are stored", len(users))
	}
	expectNoSpool(t, p)
}

// expectNoSpool fails the test when anything is beside the database that does not belong there.
func expectNoSpool(t *testing.T, p *program.Program) {
	t.Helper()
	left, err := filepath.Glob(p.DatabasePath() + "-spool-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t, "IMPORT_MAX_MIB=2")
	fits := "name,email\n" + strings.Repeat("n", 1<<20) + ",e\n"
	if answer := p.Do(t, "POST", csvPath, fits); answer.Status != 200 {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	request := p.Dial(t)
	request.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", csvPath, 3<<20,
		"name,email\n"+strings.Repeat("n,e\n", 3<<18))
	if answer := request.Answer(); answer.Status != 413 ||
		answer.Body != `{"error":"The request body is larger than 2 MiB"}` {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	expectNoSpool(t, p)
}

// FuzzFiles sends any name and email out and back through the whole program, in each format.
func FuzzFiles(f *testing.F) {
	for _, name := range []string{"Ada", "A\r\nB", `"`, "=1", "'=1", "\x00", "\u2028", " \t", "é😀", "\ufeff", "x;=1", "x;'\"=1\t@"} {
		f.Add(name, name+"@example.org")
	}
	p := start(f)
	f.Fuzz(func(t *testing.T, name, email string) {
		if strings.ToValidUTF8(name, "") != name || strings.ToValidUTF8(email, "") != email || name == "" ||
			email == "" || program.PostgreSQL && strings.Contains(name+email, "\x00") {
			return // no user has these
		}
		id := p.Create(t, name, email)
		for _, path := range []string{csvPath, csvPath + "?spreadsheet=true", ndjsonPath} {
			out := p.Do(t, "GET", path, "")
			joint := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
			back := p.Do(t, "POST", path+joint+"on_conflict=update&on_missing=delete&max_deletes=0", out.Body)
			if back.Status != 200 || !strings.HasPrefix(back.Body, `{"created":0,"updated":0,"skipped":1,"deleted":0`) {
				t.Errorf("%q, %q: %s as %q came back as %d %s", name, email, path, out.Body, back.Status, back.Body)
			}
		}
		p.Delete(t, id)
	})
}
