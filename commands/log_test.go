package commands

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"users-api/config"
)

func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	var out bytes.Buffer
	_, full := io.Pipe()
	_ = full.Close() // nothing can be written to it, as to a disk that is full
	log := &lineLog{filled: make(chan struct{}, 1)}
	write := func(out io.Writer, lines ...string) {
		for _, line := range lines {
			_, _ = log.Write([]byte(line + "\n"))
		}
		log.writeOut(out, config.Config{LogFormat: "text"})
	}
	write(full, "1", "2")
	write(full, "3")
	write(&out, "4")
	write(&out, "5")
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || lines[0] != "4" || !strings.HasSuffix(lines[1], "count=3") || lines[2] != "5" {
		t.Errorf("it wrote %q", lines)
	}
}
