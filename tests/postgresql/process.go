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

// begin starts a program. It ends with the test's process at the latest.
func begin(t testing.TB, path string, arguments ...string) *process {
	t.Helper()
	return beginWith(t, attributes(t), nil, path, arguments...)
}

// beginWith is begin with other attributes, and more in the environment.
func beginWith(
	t testing.TB, attributes *syscall.SysProcAttr, environment []string, path string, arguments ...string,
) *process {
	t.Helper()
	p := &process{command: exec.Command(path, arguments...), exited: make(chan struct{})}
	p.command.SysProcAttr, p.command.Dir = attributes, "/"
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

func (p *process) signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// wait waits for the process to end.
func (p *process) wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(Patience):
		t.Fatalf("%s does not end:\n%s", p.command.Path, p.text())
	}
}

// kill kills the process and its children. It is stopped first, so that it starts no other child meanwhile.
func (p *process) kill() {
	p.signal(syscall.SIGSTOP)
	for _, child := range p.children() {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	p.signal(syscall.SIGKILL)
}

// children returns the processes that this one has started and that run.
func (p *process) children() []int {
	if !p.runs() {
		return nil
	}
	return childrenOf(p.command.Process.Pid)
}

func childrenOf(pid int) (children []int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)) // it may end at any time
	for _, field := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}
