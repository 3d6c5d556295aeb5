//go:build strace

package strace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// A call is a system call of a traced process.
type call struct {
	process      string
	name         string
	arguments    string   // as strace writes them, but for texts
	texts        []string // the paths and the data among them
	result       int64    // -1 if it failed
	began, ended int64    // in nanoseconds; a call that was killed ends never
	covers       int      // how many changes of its file a flush covers
}

const never = math.MaxInt64

// parse reads the trace of a thread.
func parse(from io.Reader, process string) (calls []*call, err error) {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		stamp, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		at, err := nanoseconds(stamp)
		if err != nil {
			return nil, fmt.Errorf("%w in %.100q", err, line)
		}
		if n := len(calls); n > 0 && calls[n-1].ended != never { // what strace has measured is some nanoseconds off
			calls[n-1].ended = min(calls[n-1].ended, at)
		}
		if name, tail, isCall := strings.Cut(rest, "("); isCall { // and no signal
			next := &call{process: process, name: name, began: at, ended: never, result: -1}
			next.read(tail)
			calls = append(calls, next)
		}
	}
}

// read reads what stands behind the name of a call: `3</x>, "\x61", 1) = 1 <0.000012345>`.
func (c *call) read(tail string) {
	i := strings.LastIndex(tail, ") = ")
	if i < 0 { // it was killed, or does not return
		c.add(strings.TrimSuffix(tail, " <unfinished ...>"))
		return
	}
	c.add(tail[:i+1])
	if result := tail[i+len(") = "):]; !strings.HasPrefix(result, "?") {
		c.result, _ = strconv.ParseInt(anyNumber.FindString(result), 0, 64) // an address may be larger, and is not asked for
		lasted, _ := nanoseconds(strings.Trim(result[strings.LastIndex(result, "<"):], "<>"))
		c.ended = c.began + lasted
	}
}

// add reads arguments, and decodes what strace writes as \x2f.
func (c *call) add(arguments string) {
	arguments = anyText.ReplaceAllStringFunc(arguments, func(text string) string {
		c.texts = append(c.texts, decode(text[1:len(text)-1]))
		return `""`
	})
	c.arguments += anyHex.ReplaceAllStringFunc(arguments, decode)
}

var (
	anyNumber = regexp.MustCompile(`^(0x)?-?[0-9a-f]+`)
	anyText   = regexp.MustCompile(`"[^"]*"`)
	anyHex    = regexp.MustCompile(`(\\x[0-9a-f]{2})+`)
	anyFile   = regexp.MustCompile(`(\d+)<([^>]*)>`)
)

func decode(text string) string {
	bytes, err := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	if err != nil {
		return text // strace itself wrote it
	}
	return string(bytes)
}

func nanoseconds(seconds string) (int64, error) {
	return strconv.ParseInt(strings.Replace(seconds, ".", "", 1), 10, 64)
}

// file returns the descriptor that a call is about, and the path that strace knows of it.
func (c *call) file() (descriptor int, path string) {
	match := anyFile.FindStringSubmatch(c.arguments)
	if match == nil {
		return -1, ""
	}
	descriptor, _ = strconv.Atoi(match[1])
	return descriptor, match[2]
}

// last returns the last argument, a number.
func (c *call) last() int64 {
	fields := strings.Split(strings.TrimSuffix(c.arguments, ")"), ", ")
	number, _ := strconv.ParseInt(fields[len(fields)-1], 0, 64)
	return number
}

// bytes is the data that a call has written.
func (c *call) bytes() string { return strings.Join(c.texts, "")[:max(0, c.result)] }

// A recorder runs the program under strace, which writes a file for each thread.
type recorder struct {
	t         *testing.T
	script    string // runs the program, and has it traced
	directory string
	calls     []*call // what those did that have been read, in the order in which it began
}

// traced are the system calls that change files or their names, those by which they are told apart, and exit_group.
const traced = "open,openat,creat,close,dup,dup2,dup3,lseek,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat," +
	"rename,renameat,renameat2,unlink,unlinkat,write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate," +
	"copy_file_range,sendfile,splice,mmap,msync,fsync,fdatasync,sync_file_range,sync,syncfs,exit_group"

// newRecorder takes further options of strace, such as "-e inject=linkat:error=EPERM".
func newRecorder(t *testing.T, options ...string) *recorder {
	t.Helper()
	r := &recorder{t: t, directory: t.TempDir()}
	const form = "-ff -a 1 -y -xx -s 10000000 --absolute-timestamps=format:unix,precision:ns --syscall-times=ns --seccomp-bpf " +
		"-o %s/trace.$$ -e trace=%s %s"
	r.script = underStrace(t, fmt.Sprintf(form, r.directory, traced, strings.Join(options, " ")))
	return r
}

// underStrace returns a script that runs the program under strace with some options.
func underStrace(t *testing.T, options string) (script string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("%v: apt-get install strace", err)
	}
	script = filepath.Join(t.TempDir(), "traced")
	text := fmt.Sprintf("#!/bin/sh\nexec %s -D %s %s \"$@\"\n", strace, options, program.Path())
	program.Must(t, os.WriteFile(script, []byte(text), 0o755))
	return script
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

// read reads the traces of all threads that have not been read. They must have ended, or be about to.
func (r *recorder) read() []*call {
	r.t.Helper()
	for _, path := range r.traces("*") {
		process, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), "trace."), ".")
		program.WaitFor(r.t, "the end of "+path, func() bool { return hasEnded(path) })
		file, err := os.Open(path)
		program.Must(r.t, err)
		calls, err := parse(file, process)
		_ = file.Close()
		program.Must(r.t, errors.Join(err, os.Remove(path)))
		r.calls = append(r.calls, calls...)
	}
	slices.SortStableFunc(r.calls, func(a, b *call) int { return cmp.Compare(a.began, b.began) })
	return r.calls
}

// traces returns the paths of the traces of a process that have not been read.
func (r *recorder) traces(process string) []string {
	paths, err := filepath.Glob(filepath.Join(r.directory, "trace."+process+".*"))
	program.Must(r.t, err)
	return paths
}

// hasEnded reports whether a trace is complete.
func hasEnded(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && bytes.HasSuffix(text, []byte(" +++\n"))
}

// kill kills a process between the calls of its threads: of a call that is killed, a trace does not say what it has done,
// and can even give it the result of another. It reports whether the process had written what it had not flushed.
func (r *recorder) kill(p *program.Program) (unflushed bool) {
	r.t.Helper()
	process := fmt.Sprint(p.PID())
	p.Signal(syscall.SIGSTOP)
	program.WaitFor(r.t, "every thread to stop", func() bool {
		threads, err := os.ReadDir("/proc/" + process + "/task")
		stopped := 0
		for _, path := range r.traces(process) {
			stopped += strings.Count(program.ReadFile(r.t, path), "--- stopped by SIGSTOP ---")
		}
		return err == nil && stopped == len(threads)
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
