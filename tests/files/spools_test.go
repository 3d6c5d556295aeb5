package files

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// expectNoRoom expects that the files of others leave no disk to an import or export.
func expectNoRoom(t *testing.T, answer program.Answer) {
	t.Helper()
	answer.Expect(t, 503, "…Exports and imports under way take all the disk space that they may…")
	program.ExpectHeader(t, answer, "Retry-After", "5")
}

// Exports are written beside the database: many slow readers must not take the disk from writers.
func TestSlowReadersOfExportsLeaveTheDiskToWrites(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t, "DATA_DIR="+program.SmallDisk(t, "72m"))
	for i := range 10 {
		p.Create(t, strings.Repeat("n", 500_000), fmt.Sprint(i))
	}
	var readers []*program.Conn
	for i := range 30 { // of many sizes, to take all that there is
		reader := p.Dial(t)
		reader.Buffer(4 << 10)
		reader.Send("GET %s?after=%d HTTP/1.1\r\nHost: x\r\n\r\n", program.CSV, i%10)
		reader.Begin()
		readers = append(readers, reader)
	}
	for i := range 7 {
		p.Create(t, strings.Repeat("n", 900_000), fmt.Sprint("during ", i))
	}
	people := program.ManyRows(400_000) // more than is left beside the readers
	expectNoRoom(t, program.ImportRefused(t, p, program.CSV, people))
	for _, reader := range readers {
		_ = reader.Close()
	}
	program.WaitFor(t, "an export is whole again", func() bool {
		answer, err := p.Send("GET", program.CSV, "")
		return err == nil && answer.Status == 200 && strings.Count(answer.Body, "\r\n") == 18
	})
	p.Stop(t)
}
