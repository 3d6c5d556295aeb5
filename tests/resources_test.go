package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// mount runs mount, and unmounts its last argument at the end of the test.
func mount(t *testing.T, arguments ...string) {
	t.Helper()
	if output, err := exec.Command("mount", arguments...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %v %s", err, output)
	}
	t.Cleanup(func() { _ = syscall.Unmount(arguments[len(arguments)-1], syscall.MNT_DETACH) })
}

func TestAFullDiskRefusesCreationsAndNothingElse(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	needsRoot(t)
	directory := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "size=2m", "tmpfs", directory)
	p := start(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	ballast := filepath.Join(directory, "ballast")
	fillDisk(t, ballast)

	var created, refused atomic.Int64
	l := newLedger()
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for n := range 20 {
				email := fmt.Sprintf("%d-%d", i, n)
				answer, err := p.Send("POST", "/api/users", program.Body(strings.Repeat("n", 2000), email))
				switch {
				case err != nil:
					t.Error(err)
				case answer.Status == 201:
					created.Add(1)
					l.created(answer.User(t).ID, email)
				case answer.Status == 500 && strings.Contains(answer.Body, "database or disk is full (13)"):
					refused.Add(1)
				default:
					t.Errorf("answered %d %s", answer.Status, answer.Body)
				}
			}
		})
	}
	wait.Wait()
	if refused.Load() == 0 {
		t.Error("the disk was never full")
	}
	if users := p.List(t); len(users) != int(created.Load())+1 {
		t.Errorf("%d users are listed and %d were created", len(users), created.Load()+1)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.Create(t, "Alan", "alan@example.org")
	p.Stop(t)
	again := start(t, "DATA_DIR="+directory)
	l.expectKept(t, again)
	again.Stop(t)
	t.Logf("%d creations refused, %d stored", refused.Load(), created.Load())
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it could not be written anyway
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
}

// limited is the program with so many file descriptors.
func limited(t *testing.T, descriptors int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limited")
	writeFile(t, path, fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %s\n", descriptors, binary))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAStartWithoutFileDescriptorsSaysSo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	for descriptors := 9; descriptors <= 20; descriptors++ { // what fails first differs with their number
		expectRefusal(t, program.Launch(t, limited(t, descriptors)), "users.db", "ulimit -n")
	}
}

func TestAProgramWithoutFileDescriptorsGoesOnAndRecovers(t *testing.T) {
	t.Parallel()
	p := program.Start(t, limited(t, 40))
	p.Create(t, "Ada", "ada@example.org") // on a connection that is kept
	for range 60 {
		p.Dial(t)
	}
	p.WaitForLog(t, "too many open files")
	p.Create(t, "Alan", "alan@example.org")
	if users := p.List(t); len(users) != 2 {
		t.Errorf("the list is %v", users)
	}
	forbid(t, p.Log(), "goroutine", "out of memory")
}
