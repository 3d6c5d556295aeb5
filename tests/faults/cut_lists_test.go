package faults

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// HTTP/1.0 has no chunks: the end of the connection is the end of the list. Only a reset shows that it is not whole.
func TestAListThatFailsAfterItsFirstByteIsBrokenOffAndTheLogSaysByWhat(t *testing.T) {
	t.Parallel()
	noTableCode := "storage_code=1 "
	if program.PostgreSQL {
		noTableCode = "storage_code=42P01"
	}
	for name, test := range map[string]struct {
		protocol, memory string
		byReader         bool
		level, by        string
	}{
		"by its table that is gone":         {"HTTP/1.1", "0", false, "ERROR", "storage " + noTableCode},
		"by its table, of HTTP/1.0":         {"HTTP/1.0", "0", false, "ERROR", "storage " + noTableCode},
		"by its reader":                     {"HTTP/1.1", "0", true, "INFO", "client"}, // it is no error
		"by its reader, while it is cached": {"HTTP/1.1", "64", true, "INFO", "client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, "LIST_MEMORY_MIB="+test.memory)
			other := program.OpenOther(t, p.DatabasePath())
			other.Fill(80_000)
			conn := p.Dial(t)
			conn.Buffer(64 << 10) // the rest waits for its reader
			conn.Send("GET /api/users %s\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n", test.protocol)
			conn.Begin()
			if test.byReader {
				_ = conn.Close()
			} else {
				other.Do("DROP TABLE users")
				if text, clean := conn.Rest(); clean || strings.HasSuffix(text, "\r\n0\r\n\r\n") {
					t.Errorf("an answer of %d bytes looks whole", len(text))
				}
				p.Do(t, "GET", "/api/users", "").Expect(t, 500, program.ErrorBody(program.NoTable))
			}
			line := p.Line(t, "request_id=mine")
			for _, part := range []string{"level=" + test.level, "status=200", "cut_by=" + test.by} {
				if !strings.Contains(line, part) {
					t.Errorf("%s is not in %s", part, line)
				}
			}
		})
	}
}
