package faults

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// piped is the program with a pipe for its log, as most supervisors give it. The test is its reader.
type piped struct {
	command *exec.Cmd
	log     *os.File
	lines   *bufio.Scanner
	url     string
}

// startPiped returns once the program listens. From then on only the test reads the log.
func startPiped(t *testing.T) *piped {
	t.Helper()
	reader, writer, err := os.Pipe()
	program.Must(t, err)
	program.Must(t, reader.SetReadDeadline(time.Now().Add(5*time.Minute)))
	p := &piped{command: exec.Command(program.Path()), log: reader, lines: bufio.NewScanner(reader)}
	directory := t.TempDir()
	p.command.Env = append(program.EngineSettings(t, directory), "PORT=0", "DATA_DIR="+directory,
		"GOCOVERDIR="+os.Getenv("GOCOVERDIR"))
	p.command.Stderr = writer
	program.Must(t, p.command.Start())
	t.Cleanup(func() { _ = p.command.Process.Kill(); _ = p.command.Wait(); _ = reader.Close() })
	_ = writer.Close()
	listening := regexp.MustCompile(`http://localhost:(\d+)`)
	for p.url == "" && p.lines.Scan() {
		if match := listening.FindStringSubmatch(p.lines.Text()); match != nil {
			p.url = "http://127.0.0.1:" + match[1]
		}
	}
	if p.url == "" {
		t.Fatal("the program ended instead of listening")
	}
	return p
}

// ask sends requests from 8 clients, and ends the test unless all are answered.
func (p *piped) ask(t *testing.T, requests int) {
	t.Helper()
	var clients sync.WaitGroup
	client := http.Client{Timeout: 20 * time.Second, Transport: program.Client().Transport}
	for range 8 {
		clients.Go(func() {
			for range requests / 8 {
				answer, err := client.Get(p.url + "/api/users")
				if err != nil {
					t.Errorf("not answered: %v", err)
					return
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					t.Errorf("answered %s", answer.Status)
				}
			}
		})
	}
	clients.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// expectStop fails the test unless the program ends as it should within 20 s of being asked to.
func (p *piped) expectStop(t *testing.T) {
	t.Helper()
	program.Must(t, p.command.Process.Signal(syscall.SIGTERM))
	timer := time.AfterFunc(20*time.Second, func() { _ = p.command.Process.Kill() })
	defer timer.Stop()
	if err := p.command.Wait(); err != nil {
		t.Error(err)
	}
}

// The last lines are written before the end: if one of them ended the program, its exit code would tell.
func TestALogThatIsNotReadDelaysNothingAndEndsNothing(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*os.File) error{
		"its reader stalls":    func(*os.File) error { return nil },
		"its reader goes away": (*os.File).Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startPiped(t)
			program.Must(t, leave(p.log))
			p.ask(t, 1000)
			p.expectStop(t)
		})
	}
}

var droppedLines = regexp.MustCompile(`level=WARN msg="log lines were dropped" count=(\d+)$`)

func TestALogWhoseReaderComesBackSaysHowManyLinesWereDropped(t *testing.T) {
	t.Parallel()
	p := startPiped(t)
	const requests = 12_000 // about twice what the log keeps
	p.ask(t, requests)
	written, dropped := 0, 0
	for written+dropped < requests && p.lines.Scan() {
		if strings.Contains(p.lines.Text(), "msg=request") {
			written++
		} else if match := droppedLines.FindStringSubmatch(p.lines.Text()); match != nil {
			count, _ := strconv.Atoi(match[1])
			dropped += count
		}
	}
	if written+dropped != requests || dropped == 0 {
		t.Errorf("of %d lines %d were written, and %d counted", requests, written, dropped)
	}
	p.ask(t, 8) // and it goes on as before
	for written = 0; written < 8 && p.lines.Scan(); {
		if strings.Contains(p.lines.Text(), "msg=request") {
			written++
		}
	}
	if written != 8 {
		t.Errorf("%d of 8 later lines were written", written)
	}
}
