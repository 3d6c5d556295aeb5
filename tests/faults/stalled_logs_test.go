package faults

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// startPiped starts the program with a pipe for its log, as most supervisors give it, and returns once it listens. From then
// on only the test reads the log.
func startPiped(t *testing.T) (p *program.Program, log *os.File, lines *bufio.Scanner) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	program.Must(t, syscall.Mkfifo(pipe, 0o600))
	p = program.Launch(t, within(t, "", "2>"+pipe))
	log, err := os.Open(pipe)
	program.Must(t, err)
	t.Cleanup(func() { _ = log.Close() })
	program.Must(t, log.SetReadDeadline(time.Now().Add(time.Minute)))
	lines = bufio.NewScanner(log)
	listening := regexp.MustCompile(`http://localhost(:\d+)`)
	for lines.Scan() {
		if match := listening.FindStringSubmatch(lines.Text()); match != nil {
			p.URL = "http://127.0.0.1" + match[1]
			return p, log, lines
		}
	}
	t.Fatal("the program does not say where it listens")
	return nil, nil, nil
}

// ask sends requests from 8 clients, and ends the test unless all are answered. Their lines in the log are long.
func ask(t *testing.T, p *program.Program, requests int) {
	t.Helper()
	var clients sync.WaitGroup
	id := "X-Request-Id: " + strings.Repeat("x", 64)
	for range 8 {
		clients.Go(func() {
			for range requests / 8 {
				if answer, err := p.Send("GET", "/api/users", "", id); err != nil || answer.Status != 200 {
					t.Errorf("answered %d, %v", answer.Status, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

const tooMany = 6000 // requests: nearly twice what the log and the pipe keep

// The last lines are written before the end: if one of them ended the program, its exit code would tell.
func TestALogThatIsNotReadDelaysNothingAndEndsNothing(t *testing.T) {
	t.Parallel()
	p, log, _ := startPiped(t)
	program.Must(t, log.Close())
	ask(t, p, 1000)
	if took := p.Stop(t); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestALogWhoseReaderComesBackSaysHowManyLinesWereDropped(t *testing.T) {
	t.Parallel()
	p, _, lines := startPiped(t)
	ask(t, p, tooMany)
	written, dropped := 0, 0
	droppedLines := regexp.MustCompile(`level=WARN msg="log lines were dropped" count=(\d+)$`)
	for written+dropped < tooMany && lines.Scan() {
		if strings.Contains(lines.Text(), "msg=request") {
			written++
		} else if match := droppedLines.FindStringSubmatch(lines.Text()); match != nil {
			count, _ := strconv.Atoi(match[1])
			dropped += count
		}
	}
	if written+dropped != tooMany || dropped == 0 {
		t.Errorf("of %d lines %d were written, and %d counted", tooMany, written, dropped)
	}
	ask(t, p, 8) // and it goes on as before
	for written = 0; written < 8 && lines.Scan(); {
		if strings.Contains(lines.Text(), "msg=request") {
			written++
		}
	}
	if written != 8 {
		t.Errorf("%d of 8 later lines were written", written)
	}
	ask(t, p, 1000) // nobody reads these, and a stop does not wait
	if took := p.Stop(t); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
