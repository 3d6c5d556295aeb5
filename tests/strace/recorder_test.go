//go:build strace

package strace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// A recorder runs the program under strace, which writes a file for each process.
type recorder struct {
	t         *testing.T
	script    string // runs the program, and has it traced
	directory string
	processes []string // those that have been read, in the order in which they began
	calls     []*call  // what they did, in the order in which it began
}

// traced are the system calls that change files or their names, those by which they are told apart, and exit_group.
const traced = "open,openat,creat,close,dup,dup2,dup3,lseek,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat," +
	"rename,renameat,renameat2,unlink,unlinkat,write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate," +
	"copy_file_range,sendfile,splice,mmap,msync,fsync,fdatasync,sync_file_range,sync,syncfs,exit_group"

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("%v: apt-get install strace", err)
	}
	r := &recorder{t: t, directory: t.TempDir()}
	r.script = filepath.Join(r.directory, "traced")
	const form = "#!/bin/sh\nexec %s -D -f -y -xx -s 10000000 --absolute-timestamps=format:unix,precision:ns " +
		"--syscall-times=ns --seccomp-bpf -o %s/trace.$$ -e trace=%s %s \"$@\"\n"
	text := fmt.Sprintf(form, strace, r.directory, traced, program.Path())
	program.Must(t, os.WriteFile(r.script, []byte(text), 0o755))
	return r
}

// run runs a command, which must end well, and returns its process.
func (r *recorder) run(dataDir string, arguments ...string) (process string) {
	r.t.Helper()
	command := exec.Command(r.script, arguments...)
	command.Env = []string{"DATA_DIR=" + dataDir, "PATH=" + os.Getenv("PATH")}
	if output, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("%q: %v\n%s", arguments, err, output)
	}
	return fmt.Sprint(command.Process.Pid)
}

// read reads the traces of all processes that have not been read. They must have ended, or be about to.
func (r *recorder) read() []*call {
	r.t.Helper()
	paths, err := filepath.Glob(filepath.Join(r.directory, "trace.*"))
	program.Must(r.t, err)
	for _, path := range paths {
		process := strings.TrimPrefix(filepath.Ext(path), ".")
		program.WaitFor(r.t, "the end of "+path, func() bool { return hasEnded(path, process) })
		r.processes = append(r.processes, process)
		file, err := os.Open(path)
		program.Must(r.t, err)
		calls, err := parse(file, process)
		_ = file.Close()
		program.Must(r.t, errors.Join(err, os.Remove(path)))
		r.calls = append(r.calls, calls...)
	}
	slices.SortStableFunc(r.calls, func(a, b *call) int { return a.began.compare(b.began) })
	return r.calls
}

// hasEnded reports whether a trace is complete.
func hasEnded(path, process string) bool {
	const enough = 200
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it was only read
	_, _ = file.Seek(-enough, io.SeekEnd)
	end, err := io.ReadAll(file)
	return err == nil && regexp.MustCompile(`(?m)^`+process+` .*\+\+\+ (exited|killed) .*\n\z`).Match(end)
}

// kill kills a process between the calls of its threads: of a call that is killed, a trace does not say what it has done,
// and can even give it the result of another. It reports whether the process had written what it had not flushed.
func (r *recorder) kill(p *program.Program) (unflushed bool) {
	r.t.Helper()
	process := fmt.Sprint(p.PID())
	p.Signal(syscall.SIGSTOP)
	program.WaitFor(r.t, "every thread to stop", func() bool {
		trace := program.ReadFile(r.t, filepath.Join(r.directory, "trace."+process))
		threads, err := os.ReadDir("/proc/" + process + "/task")
		return err == nil && strings.Count(trace, "--- stopped by SIGSTOP ---") == len(threads)
	})
	p.Kill(r.t)
	calls := r.read()
	for _, c := range calls {
		if _, path := c.file(); c.process == process && c.result >= 0 && strings.HasSuffix(path, "-wal") {
			unflushed = unflushed && c.name != "fsync" || c.name == "pwrite64"
		}
	}
	return unflushed
}
