package commands

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"users-api/config"
)

// disk is a file of the log on a disk that may be full.
type disk struct {
	full bool
	text bytes.Buffer
}

func (d *disk) Write(text []byte) (int, error) {
	if d.full {
		return 0, errors.New("no space left on device")
	}
	return d.text.Write(text)
}

func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	out, log := &disk{full: true}, &lineLog{filled: make(chan struct{}, 1)}
	write := func(lines ...string) {
		for _, line := range lines {
			_, _ = log.Write([]byte(line + "\n"))
		}
		log.writeOut(out, config.Config{LogFormat: "text"})
	}
	write("1", "2")
	write("3")
	out.full = false // there is room again
	write("4")
	write("5")
	lines := strings.Split(out.text.String(), "\n")
	if len(lines) != 4 || lines[0] != "4" || !strings.HasSuffix(lines[1], "count=3") || lines[2] != "5" {
		t.Errorf("it wrote %q", lines)
	}
}
