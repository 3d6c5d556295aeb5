package faults

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// A supervisor gives the program a pipe for its log, and may end. If a line ended the program, its exit code would tell.
func TestALogWhoseReaderIsGoneDelaysNothingAndEndsNothing(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	program.Must(t, syscall.Mkfifo(pipe, 0o600))
	p := program.Launch(t, within(t, "", "2>"+pipe))
	log, err := os.Open(pipe)
	program.Must(t, err)
	program.Must(t, log.SetReadDeadline(time.Now().Add(time.Minute)))
	lines, listening := bufio.NewScanner(log), regexp.MustCompile(`http://localhost(:\d+)`)
	for p.URL == "" && lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			p.URL = "http://127.0.0.1" + match[1]
		}
	}
	program.Must(t, log.Close())
	for range 100 {
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, "[]")
	}
	if took := p.Stop(t); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
