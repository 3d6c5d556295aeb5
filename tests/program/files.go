package program

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The paths of exports and imports.
const (
	CSV    = "/api/users.csv"
	NDJSON = "/api/users.ndjson"
)

// ManyRows is a CSV file of n users with emails in no order.
func ManyRows(n int) string {
	var text strings.Builder
	text.WriteString("name,email\n")
	for i := range n {
		fmt.Fprintf(&text, "Person %d,%x@example.org\n", i, uint64(i+1)*0x9e3779b97f4a7c15)
	}
	return text.String()
}

// BeginImport sends a file and returns once all of it has arrived, with the answer to come.
func BeginImport(t *testing.T, p *Program, path, text string) *Conn {
	t.Helper()
	conn := p.Dial(t)
	conn.Send("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, len(text))
	_, err := conn.Write([]byte(text))
	Must(t, err)
	return conn
}

// ImportRefused sends a file that is refused before all of it has arrived, and returns the answer. [Program.Do] may lose it:
// an HTTP client that is still sending when the connection is closed reports that alone.
func ImportRefused(t *testing.T, p *Program, path, text string, header ...string) Answer {
	t.Helper()
	conn := p.Dial(t)
	lines := strings.Join(append(header, ""), "\r\n")
	conn.Send("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", path, lines, len(text), text)
	return conn.Answer().To("POST " + path)
}

// Imported is the answer to an import.
func Imported(created, updated, skipped, deleted int) string {
	return fmt.Sprintf(`{"created":%d,"updated":%d,"skipped":%d,"deleted":%d,"ignored_columns":[]}`,
		created, updated, skipped, deleted)
}

// ExpectNoSpool fails the test when anything is beside the database that does not belong there.
func ExpectNoSpool(t *testing.T, p *Program) {
	t.Helper()
	left, err := filepath.Glob(p.DatabasePath() + "-spool-*")
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
