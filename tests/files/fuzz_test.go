package files

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// FuzzFiles sends any name and email out and back through the whole program, in each format.
func FuzzFiles(f *testing.F) {
	for _, name := range []string{"Ada", "A\r\nB", `"`, "=1", "'=1", "\x00", "\u2028", " \t", "é😀", "\ufeff", "x;=1", "x;'\"=1\t@"} {
		f.Add(name, name+"@example.org")
	}
	p := program.Serve(f)
	f.Fuzz(func(t *testing.T, name, email string) {
		if strings.ToValidUTF8(name, "") != name || strings.ToValidUTF8(email, "") != email || name == "" ||
			email == "" || program.PostgreSQL && strings.Contains(name+email, "\x00") {
			return // no user has these
		}
		id := p.Create(t, name, email)
		for _, path := range []string{program.CSV, program.CSV + "?spreadsheet=true", program.NDJSON} {
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
