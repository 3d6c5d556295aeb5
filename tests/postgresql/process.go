package postgresql

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs until it is told to end, and its log.
type process struct {
	command *exec.Cmd
	exited  chan struct{}

	mu  sync.Mutex
	log bytes.Buffer
}

// begin starts a program with more in its environment. When the test's process ends, it gets a signal at the latest.
func begin(t testing.TB, atEnd syscall.Signal, environment []string, path string, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(path, arguments...), exited: make(chan struct{})}
	p.command.SysProcAttr, p.command.Dir = attributes(t, atEnd), "/"
	p.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, environment...)
	p.command.Stdout, p.command.Stderr = p, p
	must(t, p.command.Start())
	go func() { _ = p.command.Wait(); close(p.exited) }()
	return p
}

// Write adds to the log.
func (p *process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(data)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// waitFor returns once the log contains a text.
func (p *process) waitFor(t testing.TB, text string) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !strings.Contains(p.text(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) || !p.runs() && !strings.Contains(p.text(), text) {
			t.Fatalf("the log of %s never says %q:\n%s", p.command.Path, text, p.text())
		}
	}
}

func (p *process) runs() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// signal sends a signal to the process alone.
func (p *process) signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// signalAll sends a signal to the process and its children.
func (p *process) signalAll(signal syscall.Signal) {
	if p.runs() {
		signalAll(p.command.Process.Pid, signal)
	}
}

// wait waits for the process to end.
func (p *process) wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(Patience):
		t.Fatalf("%s does not end:\n%s", p.command.Path, p.text())
	}
}

// signalAll sends a signal to a process and its children. It is stopped meanwhile, so that it starts no other.
func signalAll(pid int, signal syscall.Signal) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)) // it may end at any time
	for _, field := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(child, signal)
		}
	}
	_ = syscall.Kill(pid, signal)
}
