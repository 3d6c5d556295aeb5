package faults

import (
	"testing"

	"users-api/tests/program"
)

func TestAListWhoseReaderGoesIsBrokenOffAndIsNoError(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]string{"a list in memory": "64", "a list in a temporary file": "0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t, "LIST_MEMORY_MIB="+memory)
			program.OpenOther(t, p.DatabasePath()).Fill(80_000)
			conn := p.Dial(t)
			conn.Buffer(64 << 10) // the rest waits for its reader
			conn.Send("GET /api/users HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n")
			conn.Begin()
			_ = conn.Close()
			program.Expect(t, "the line", p.Line(t, "request_id=mine"), "…level=INFO…status=200…cut_by=client…")
		})
	}
}
