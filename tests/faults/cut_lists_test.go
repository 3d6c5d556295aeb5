package faults

import (
	"encoding/json"
	"strings"
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
			line := p.Line(t, "request_id=mine")
			for _, part := range []string{"level=INFO", "status=200", "cut_by=client"} {
				if !strings.Contains(line, part) {
					t.Errorf("%s is not in %s", part, line)
				}
			}
		})
	}
}

// All of it was read before its first byte was sent.
func TestAListArrivesWholeWhateverHappensToStorageMeanwhile(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LIST_MEMORY_MIB=0")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(80_000)
	conn := p.Dial(t)
	conn.Buffer(64 << 10) // the rest waits for its reader
	conn.Send("GET /api/users HTTP/1.1\r\nHost: x\r\n\r\n")
	conn.Begin()
	other.Do("DROP TABLE users")
	var users []program.User
	program.Must(t, json.Unmarshal([]byte(conn.Answer().Body), &users))
	program.Expect(t, "how many users arrive", len(users), 80_000)
	p.Do(t, "GET", "/api/users", "").Expect(t, 500, program.ErrorBody(program.NoTable))
}
