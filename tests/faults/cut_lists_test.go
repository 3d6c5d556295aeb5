package faults

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

// breakList asks for a long list, reads a little, and drops the table while the rest waits for its reader. It returns
// the connection.
func breakList(t *testing.T, p *program.Program, request string) *program.Conn {
	t.Helper()
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(80_000)
	conn := p.Dial(t)
	conn.Buffer(64 << 10)
	conn.Send("%s", request)
	conn.Begin()
	other.Do("DROP TABLE users")
	return conn
}

// HTTP/1.0 has no chunks: the end of the connection is the end of the list. Only a reset shows that it is not whole.
func TestAListThatFailsAfterItsFirstByteIsBrokenOffAndTheLogSaysByWhat(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/1.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, "LIST_MEMORY_MIB=0")
			text, clean := breakList(t, p, "GET /api/users "+protocol+"\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n").Rest()
			if clean || strings.HasSuffix(text, "\r\n0\r\n\r\n") {
				t.Errorf("an answer of %d bytes looks whole", len(text))
			}
			line := p.Line(t, "request_id=mine")
			for _, part := range []string{"level=ERROR", "status=200", "cut_by=storage", noTableCode} {
				if !strings.Contains(line, part) {
					t.Errorf("%s is not in %s", part, line)
				}
			}
			p.Do(t, "GET", "/api/users", "").Expect(t, 500, program.ErrorBody(program.NoTable))
		})
	}
}

func TestTheLogSaysThatAListWasCutByItsReader(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"LIST_MEMORY_MIB=64", "LIST_MEMORY_MIB=0"} {
		p := program.Serve(t, setting)
		program.OpenOther(t, p.DatabasePath()).Fill(80_000)
		conn := p.Dial(t)
		conn.Buffer(64 << 10)
		conn.Send("GET /api/users HTTP/1.1\r\nHost: x\r\nX-Request-Id: by-reader\r\n\r\n")
		conn.Begin()
		_ = conn.Close()
		line := p.Line(t, "request_id=by-reader")
		if !strings.Contains(line, "level=INFO") || !strings.Contains(line, "cut_by=client") { // it is no error
			t.Errorf("with %s the log says %s", setting, line)
		}
	}
}
