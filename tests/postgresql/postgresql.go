// Package postgresql starts real PostgreSQL servers for tests: each in a folder of its own, on a free port of
// 127.0.0.1. Tests stop them, kill them, pause them, put a standby beside them or a pooler in front of them. A server
// and its folder are gone when its test ends; what the tests of a process share is gone after [End], which TestMain
// calls.
//
// The binaries are those in POSTGRES_BIN, or else Debian's newest. As root, they run as the user postgres, because
// PostgreSQL refuses root.
package postgresql

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
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

// begin starts a program. When the test's process ends, it gets a signal at the latest.
func begin(t testing.TB, path string, arguments ...string) *process {
	t.Helper()
	p := &process{command: exec.Command(path, arguments...), exited: make(chan struct{})}
	p.command.SysProcAttr, p.command.Dir = attributes(t), "/"
	p.command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
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

// signalAll sends a signal to the process and its children. It is stopped meanwhile, so that it starts no other.
func (p *process) signalAll(signal syscall.Signal) {
	if !p.runs() {
		return
	}
	pid := p.command.Process.Pid
	p.signal(syscall.SIGSTOP)
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid)) // it may end at any time
	for _, field := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(field); err == nil {
			_ = syscall.Kill(child, signal)
		}
	}
	p.signal(signal)
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

// Patience is how long a test waits for something that must happen. Only a test that fails waits that long.
const Patience = 60 * time.Second

// Password is the password of every server's superuser, which is called postgres. Its characters must be escaped in a
// URL. A server asks for it only when it was started with [Scram].
const Password = "pass/word@of#the%users"

// Scram, as a setting of [Start], makes the server ask for the password. Otherwise everybody on this machine may
// connect.
const Scram = "scram"

// shared is what all tests of the process use: a folder that initdb has filled, to be copied, and one server.
var shared struct {
	sync.Mutex
	template string
	server   *Server
}

// Shared returns the server that the tests of this process share. A test that stops or breaks its server starts its
// own.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		shared.server = launch(t, copyTemplate(t), "max_connections=800")
	}
	return shared.server
}

// End stops the shared server and removes what it left. TestMain calls it after the last test.
func End() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.remove()
	}
	_ = os.RemoveAll(shared.template)
}

// Start starts a server for one test. Settings are PostgreSQL's own, such as "max_connections=20", or [Scram].
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	shared.Lock()
	folder := copyTemplate(t)
	shared.Unlock()
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // also of a server that does not start
	server := launch(t, folder, settings...)
	t.Cleanup(server.remove)
	return server
}

// copyTemplate returns a new folder as initdb leaves it. Initdb takes a second, and a copy a tenth of that.
func copyTemplate(t testing.TB) string {
	t.Helper()
	if shared.template == "" {
		shared.template = newFolder(t)
		password := filepath.Join(shared.template, "password")
		must(t, os.WriteFile(password, []byte(Password), 0o644))
		run(t, binary(t, "initdb"), "--pgdata="+filepath.Join(shared.template, "data"), "--no-sync",
			"--username=postgres", "--pwfile="+password, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8")
	}
	folder := newFolder(t)
	run(t, "cp", "-a", filepath.Join(shared.template, "data"), folder)
	return folder
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newFolder makes a folder that belongs to the user who runs the servers. Its path is short: that of a unix socket may
// have no more than 107 bytes.
func newFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "postgresql")
	must(t, errors.Join(err, os.Chown(folder, UID(t), -1)))
	return folder
}

// binary returns the path of one of the server's programs.
func binary(t testing.TB, name string) string {
	t.Helper()
	directories, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // Debian's, whose versions have two digits
	path := filepath.Join(cmp.Or(os.Getenv("POSTGRES_BIN"), slices.Max(append(directories, ""))), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("these tests need a PostgreSQL server: install Debian's package postgresql, or set POSTGRES_BIN to "+
			"the directory of another's programs: %v", err)
	}
	return path
}

// run runs a program to its end, as the user who runs the servers.
func run(t testing.TB, path string, arguments ...string) {
	t.Helper()
	command := exec.Command(path, arguments...)
	command.SysProcAttr, command.Dir = attributes(t), "/"
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(arguments, " "), err, output)
	}
}

// attributes are those of every process here: not root, and sent a signal when the test's process is killed.
func attributes(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() == 0 {
		attributes.Credential = credential(t)
	}
	return attributes
}

func credential(t testing.TB) *syscall.Credential {
	t.Helper()
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("PostgreSQL does not run as root, and there is no other user for it: %v", err)
	}
	uid, errUID := strconv.ParseUint(account.Uid, 10, 32)
	gid, errGID := strconv.ParseUint(account.Gid, 10, 32)
	must(t, errors.Join(errUID, errGID))
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// freePort returns a port that no program listens on. It is below those that the system gives to connections: a server
// that is stopped for a while must find it free again.
func freePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 12000 + rand.IntN(20000)
		listener, err := net.Listen("tcp", address(port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// UID returns the user who runs the servers.
func UID(t testing.TB) int {
	t.Helper()
	if os.Geteuid() != 0 {
		return os.Geteuid()
	}
	return int(credential(t).Uid)
}
