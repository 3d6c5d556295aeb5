// Package program runs the built users-api as a supervisor does: a process of its own, a real port, a real database
// file, signals. Tests talk to it over HTTP and read its log.
package program

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for something that must happen. It is long because a machine may be busy; only a
// test that fails waits that long.
const Patience = 60 * time.Second

// Build builds the program into a directory and returns its path. Under -race the program has the race detector too;
// with GOCOVERDIR set it counts which lines ran. Flags are those of "go build".
// With GIVEN_BINARY set nothing is built: that file is copied, which has neither, and none of the flags. Use -count=1 then:
// Go's cache of tests does not look into it.
//
// Go keeps what "go run" has linked, and not what "go build" has: each package of tests would spend two seconds on it.
func Build(directory string, flags ...string) (string, error) {
	path := filepath.Join(directory, "users-api")
	if given := os.Getenv("GIVEN_BINARY"); given != "" {
		if output, err := exec.Command("cp", "--preserve=mode", given, path).CombinedOutput(); err != nil {
			return "", fmt.Errorf("copying the program: %w\n%s", err, output)
		}
		return path, nil
	}
	arguments := []string{"run", "-tags", "nomsgpack", "-exec", "cp --target-directory=" + directory}
	if raceEnabled {
		arguments = append(arguments, "-race")
	}
	if os.Getenv("GOCOVERDIR") != "" {
		arguments = append(arguments, "-cover", "-coverpkg=users-api/...")
	}
	arguments = append(append(arguments, flags...), "users-api")
	output, err := exec.Command("go", arguments...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return path, nil
}

// readSources looks at every file that the program is built from. Go caches the result of a test until a file changes
// that the test itself has looked at; the compiler's files do not count.
var readSources = sync.OnceValue(func() error {
	root := ".."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		root = filepath.Join(root, "..")
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bench" || entry.Name() == "data" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		embedded := strings.HasPrefix(path, filepath.Join(root, "web"))
		if extension := filepath.Ext(path); extension == ".go" || extension == ".mod" || extension == ".gz" || embedded {
			_, err = os.Stat(path)
		}
		return err
	})
})

// Program is a running users-api.
type Program struct {
	URL     string // http://127.0.0.1:PORT
	DataDir string

	command *exec.Cmd
	log     *logBuffer
	exited  chan struct{}

	differences *differences // between the OpenAPI document and what was answered
}

// Start starts the program at path on a free port of 127.0.0.1 and returns once it listens. It is stopped when the test
// ends.
// Settings are NAME=value; without DATA_DIR the database is in a directory of the test. With the build tag postgres
// it is a PostgreSQL database that stands for that directory: programs with one DATA_DIR share one database.
func Start(t testing.TB, path string, settings ...string) *Program {
	t.Helper()
	p := Launch(t, path, settings...)
	p.WaitForAddress(t)
	return p
}

// end ends the process. With GOCOVERDIR set it asks first, because the program writes its counts when it stops.
func (p *Program) end() {
	if os.Getenv("GOCOVERDIR") != "" {
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(Patience):
		}
	}
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// At returns a program that something else has started, such as a container engine.
func At(url string) *Program {
	return &Program{URL: url, log: newLogBuffer()}
}

// At is the same process at another address, where it answers to something else than the API.
func (p *Program) At(url string) *Program {
	other := *p
	other.URL, other.differences = url, nil
	return &other
}

// Launch starts the program and does not wait for it to listen.
func Launch(t testing.TB, path string, settings ...string) *Program {
	t.Helper()
	return LaunchAs(t, os.Geteuid(), path, settings...)
}

// LaunchAs is Launch as another user, which only root may ask for.
func LaunchAs(t testing.TB, uid int, path string, settings ...string) *Program {
	t.Helper()
	return LaunchWith(t, syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, path, settings...)
}

// LaunchWith is LaunchAs with groups.
func LaunchWith(t testing.TB, user syscall.Credential, path string, settings ...string) *Program {
	t.Helper()
	Must(t, readSources())
	p := &Program{
		DataDir: filepath.Join(t.TempDir(), "data"), log: newLogBuffer(), exited: make(chan struct{}),
		differences: &differences{},
	}
	environment := []string{
		"PORT=0", "LISTEN_ADDRESS=127.0.0.1", "DATA_DIR=" + p.DataDir,
		"PATH=" + os.Getenv("PATH"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR"),
	}
	for _, setting := range settings {
		switch name, value, _ := strings.Cut(setting, "="); name {
		case "DATA_DIR":
			p.DataDir = value
		case "USER_FIELDS":
			p.differences.userFields = value
		}
	}
	p.command = exec.Command(path)
	p.command.Env = append(append(environment, EngineSettings(t, p.DataDir, settings...)...), settings...)
	p.command.Dir = t.TempDir()
	// It dies with the test: its copy of a killed fuzzing process's pipe would make go test wait for ever.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if int(user.Uid) != os.Geteuid() || user.Groups != nil {
		p.command.Dir = "/"
		p.command.SysProcAttr.Credential = &user
	}
	p.command.Stderr = p.log
	Must(t, p.command.Start())
	go func() { _ = p.command.Wait(); close(p.exited); p.log.changed.Broadcast() }()
	t.Cleanup(p.end)
	t.Cleanup(func() { p.differences.report(t); Forbid(t, p.Log(), "WARNING: DATA RACE") })
	return p
}

// PID is the process's id.
func (p *Program) PID() int { return p.command.Process.Pid }

// Signal sends a signal, unless the process has ended.
func (p *Program) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Wait waits for the process to end and returns its exit code, -1 when a signal killed it.
func (p *Program) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.command.ProcessState.ExitCode()
	case <-time.After(Patience):
		t.Fatalf("the program does not end:\n%s", tail(p.Log()))
		return 0
	}
}

// ExpectEnd waits for the process to end, and fails the test unless it has this exit code, and these texts in its log.
func (p *Program) ExpectEnd(t testing.TB, code int, says ...string) {
	t.Helper()
	got := p.Wait(t)
	expectTexts(t, p.Log(), says)
	if got != code {
		t.Errorf("the exit code is %d, want %d:\n%s", got, code, tail(p.Log()))
	}
}

// Stop asks the program to stop, and fails the test unless it ends with exit code 0. It returns how long it took.
func (p *Program) Stop(t testing.TB) time.Duration {
	t.Helper()
	start := time.Now()
	p.Signal(syscall.SIGTERM)
	p.ExpectEnd(t, 0)
	return time.Since(start)
}

// Kill ends the program as kill -9 does: it gets no chance to do anything.
func (p *Program) Kill(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait(t)
}

// Client is the HTTP client that sends every request of [Program.Send].
func Client() *http.Client { return client }

// Memory returns a figure of /proc/PID/status in bytes: VmRSS is what the process has in memory, VmHWM its peak.
func (p *Program) Memory(t testing.TB, figure string) int64 {
	t.Helper()
	_, line, _ := strings.Cut(ReadFile(t, fmt.Sprintf("/proc/%d/status", p.PID())), figure+":")
	var kib int64
	_, err := fmt.Sscan(line, &kib)
	Must(t, err)
	return kib << 10
}

// ExpectMemory fails the test if the program ever took more than some MiB, which the race detector multiplies.
func (p *Program) ExpectMemory(t testing.TB, most int64) {
	t.Helper()
	if peak := p.Memory(t, "VmHWM"); peak > MemoryBound(most<<20) {
		t.Errorf("the peak of memory is %d MiB, want %d at most", peak>>20, most)
	}
}

// MemoryBound is how much memory a program may take that has a bound, which the race detector multiplies.
func MemoryBound(bytes int64) int64 {
	if raceEnabled {
		return 10 * bytes
	}
	return bytes
}
