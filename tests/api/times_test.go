package api

import (
	"net/url"
	"testing"

	"users-api/tests/program"
)

// Every form that JavaScript, Python, databases and people write is a time, and a day that does not exist is none.
func TestATimeIsReadAsProgramsWriteIt(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=updated_at")
	program.OpenOther(t, p.DatabasePath()).Insert(`INSERT INTO users (id, name, email, created_at, updated_at) VALUES
		(1, 'A', 'a@x', '2025-12-31 23:59:59', '2025-12-31 23:59:59'), (2, 'B', 'b@x', '2026-01-01 00:00:00', '2026-01-01 00:00:00')`)
	for _, name := range []string{"created", "updated"} {
		for _, form := range []string{
			"2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00.000000+00:00", "2026-01-01 00:00:00+00:00", "2026-01-01T00:00Z",
			"2026-01-01T00:00", "2026-01-01 00:00", "2026-01-01T02:00+02:00", "2025-12-31T19:00:00-05:00", "2026-01-01T00:00:00", "2026-01-01",
		} {
			p.Do(t, "GET", "/api/users?"+name+"_from="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":2,…}]`)
			p.Do(t, "GET", "/api/users?"+name+"_to="+url.QueryEscape(form), "").Expect(t, 200, `[{"id":1,…}]`)
		}
		for _, form := range []string{"2026-02-31", "2026-02-31T00:00:00Z", "2025-02-29", "2026-04-31 12:00", "2026-13-01", "2026-00-10", "2026-01-00",
			"2026-01-01T24:00:00Z", "2026-01-01T00:60Z", "2026-01-01T00:00:00+25:00", "1767225600", "now"} {
			for _, bound := range []string{"_from", "_to"} {
				p.Do(t, "GET", "/api/users?"+name+bound+"="+url.QueryEscape(form), "").Expect(t, 400, `{"error":"The parameter `+name+bound+` must be a day or a time…"}`)
			}
		}
	}
}
