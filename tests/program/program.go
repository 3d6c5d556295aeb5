// Package program runs the built users-api the way a supervisor does: a process of its own, a real port, a real
// database file, signals. Tests talk to it over HTTP and read its log.
package program

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. It is long because a machine may be slow; nothing waits
// that long unless it fails.
const patience = 30 * time.Second

// Build builds the program into a directory and returns its path. Under -race it has the race detector too, and with
// GOCOVERDIR set it counts which lines ran.
func Build(directory string) (string, error) {
	path := filepath.Join(directory, "users-api")
	arguments := []string{"build", "-tags", "nomsgpack", "-o", path}
	if raceEnabled {
		arguments = append(arguments, "-race")
	}
	if os.Getenv("GOCOVERDIR") != "" {
		arguments = append(arguments, "-cover", "-coverpkg=users-api/...")
	}
	output, err := exec.Command("go", append(arguments, "users-api")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return path, nil
}

// lookAtSources looks at every file that the program is built from. Go repeats the result of tests whose files have not
// changed, and knows of the files that a running test looks at: not of those that a compiler reads.
func lookAtSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bench" || entry.Name() == "data" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if extension := filepath.Ext(path); extension == ".go" || extension == ".mod" {
			_, err = os.Stat(path)
		}
		return err
	})
}

// Program is a running users-api.
type Program struct {
	URL     string // http://127.0.0.1:PORT
	DataDir string
	Started time.Time // when the process was made

	command *exec.Cmd
	log     *logBuffer
	exited  chan struct{}
}

// Start starts the program at path on a free port and returns once it listens. It is stopped when the test ends.
// Settings are NAME=value; without DATA_DIR the database is in a directory of the test.
func Start(t testing.TB, path string, settings ...string) *Program {
	t.Helper()
	p := Launch(t, path, settings...)
	p.WaitForAddress(t)
	return p
}

// end ends the process, whatever it does. One whose lines are counted is asked to stop, because it writes the count then.
func (p *Program) end() {
	if os.Getenv("GOCOVERDIR") != "" {
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(patience):
		}
	}
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// WaitForAddress returns once the program listens.
func (p *Program) WaitForAddress(t testing.TB) {
	t.Helper()
	select {
	case p.URL = <-p.log.address:
	case <-p.exited:
		t.Fatalf("the program ended instead of listening:\n%s", p.Log())
	case <-time.After(patience):
		t.Fatalf("the program does not listen:\n%s", p.Log())
	}
}

// Launch starts the program and does not wait for it to listen.
func Launch(t testing.TB, path string, settings ...string) *Program {
	t.Helper()
	return LaunchAs(t, os.Geteuid(), path, settings...)
}

// LaunchAs is Launch as another user, which only root may ask for.
func LaunchAs(t testing.TB, uid int, path string, settings ...string) *Program {
	t.Helper()
	if err := lookAtSources(".."); err != nil {
		t.Fatal(err)
	}
	p := &Program{DataDir: filepath.Join(t.TempDir(), "data"), log: newLogBuffer(), exited: make(chan struct{})}
	environment := []string{"PORT=0", "DATA_DIR=" + p.DataDir, "PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	for _, setting := range settings {
		if directory, ok := strings.CutPrefix(setting, "DATA_DIR="); ok {
			p.DataDir = directory
		}
	}
	p.command = exec.Command(path)
	p.command.Env = append(environment, settings...)
	p.command.Dir = t.TempDir()
	if uid != os.Geteuid() {
		p.command.Dir = "/"
		p.command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	p.command.Stderr = p.log
	p.Started = time.Now()
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.command.Wait(); close(p.exited) }()
	t.Cleanup(p.end)
	return p
}

// DatabasePath is where the program keeps its users.
func (p *Program) DatabasePath() string { return filepath.Join(p.DataDir, "users.db") }

// PID is the process's id.
func (p *Program) PID() int { return p.command.Process.Pid }

// Signal sends a signal; a process that has ended gets none.
func (p *Program) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Exited is closed when the process has ended.
func (p *Program) Exited() <-chan struct{} { return p.exited }

// Wait waits for the process to end and returns its exit code, -1 when a signal killed it.
func (p *Program) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.command.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the program does not end:\n%s", p.Log())
		return 0
	}
}

// Stop asks the program to stop, and fails the test unless it ends with exit code 0. It returns how long it took.
func (p *Program) Stop(t testing.TB) time.Duration {
	t.Helper()
	start := time.Now()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(t); code != 0 {
		t.Fatalf("stopped with exit code %d:\n%s", code, p.Log())
	}
	return time.Since(start)
}

// Kill ends the program as kill -9 does, without a chance to do anything.
func (p *Program) Kill(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait(t)
}

// Log returns what the program has written to stderr.
func (p *Program) Log() string { return p.log.String() }

// WaitForLog returns once the log holds text.
func (p *Program) WaitForLog(t testing.TB, text string) {
	t.Helper()
	p.log.waitFor(t, text)
}

// logBuffer keeps a log, and tells when the line comes that says where the program listens.
type logBuffer struct {
	mu      sync.Mutex
	changed *sync.Cond
	text    bytes.Buffer
	address chan string
	seen    bool
}

var listening = regexp.MustCompile(`"?address"?[=:]"?http://localhost:(\d+)`)

func newLogBuffer() *logBuffer {
	b := &logBuffer{address: make(chan string, 1)}
	b.changed = sync.NewCond(&b.mu)
	return b
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(data)
	b.changed.Broadcast()
	if !b.seen {
		if match := listening.FindSubmatch(b.text.Bytes()); match != nil {
			b.seen = true
			b.address <- "http://127.0.0.1:" + string(match[1])
		}
	}
	return len(data), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *logBuffer) waitFor(t testing.TB, text string) {
	t.Helper()
	deadline, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	context.AfterFunc(deadline, b.changed.Broadcast)
	b.mu.Lock()
	defer b.mu.Unlock()
	for !strings.Contains(b.text.String(), text) {
		if deadline.Err() != nil {
			t.Fatalf("the log never says %q:\n%s", text, b.text.String())
		}
		b.changed.Wait()
	}
}

// Lines returns the lines of the log that hold text.
func (p *Program) Lines(text string) []string {
	var lines []string
	scanner := bufio.NewScanner(strings.NewReader(p.Log()))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if strings.Contains(scanner.Text(), text) {
			lines = append(lines, scanner.Text())
		}
	}
	return lines
}
