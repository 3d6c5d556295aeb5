package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// locked is a directory with a database that another program keeps locked, readers included.
func locked(t *testing.T) (directory string) {
	t.Helper()
	directory = t.TempDir()
	program.OpenOther(t, filepath.Join(directory, "users.db")).Do("CREATE TABLE audit (what)", "BEGIN EXCLUSIVE")
	return directory
}

func TestAStartOnALockedDatabaseGivesUpAfterAbout5s(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Locks)
	began := time.Now()
	expectRefusal(t, program.Launch(t, binary, "DATA_DIR="+locked(t)), "users.db", "locked", "5s")
	if took := time.Since(began); took < 4*time.Second || took > 9*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestASignalEndsAStartThatWaitsForALock(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Locks)
	p := program.Launch(t, binary, "DATA_DIR="+locked(t))
	waitFor(t, "the program has opened the database", func() bool { return hasOpen(p, p.DatabasePath()) })
	began := time.Now()
	p.Signal(syscall.SIGTERM)
	p.Wait(t)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	forbid(t, p.Log(), "goroutine", "listening")
}

// hasOpen reports whether the process has a file open.
func hasOpen(p *program.Program, path string) bool {
	names, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(p.PID()), "fd", "*"))
	for _, name := range names {
		if target, err := os.Readlink(name); err == nil && target == path {
			return true
		}
	}
	return false
}

// The wait for another program's lock is what is left of the stop, and not the usual 5 s after the body has come.
func TestAStopTakesAtMost8sEvenWithALockAndALateBody(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	body := program.Body("Alan", "alan@example.org")
	conn := p.Dial(t)
	conn.Send(postUsers+"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	conn.Expect("HTTP/1.1 100 Continue\r\n")
	program.OpenOther(t, p.DatabasePath()).HoldWrites()

	began := time.Now()
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	late := time.AfterFunc(5500*time.Millisecond, func() { conn.Send("%s", body) })
	defer late.Stop()
	if code := p.Wait(t); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	if took := time.Since(began); took > 9500*time.Millisecond { // a container engine kills after 10
		t.Errorf("it took %s", took)
	}
	if strings.Contains(p.Log(), "goroutine") {
		t.Error(p.Log())
	}
}
