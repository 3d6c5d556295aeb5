//go:build strace

package strace

import (
	"bufio"
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
	began, ended moment   // a call that was killed ends never
	covers       int      // how many changes of its file a flush covers
}

// A moment is a line of a trace. Two processes may have lines of one time; in one, the lines are in their order.
type moment struct {
	at   int64 // in nanoseconds
	line int
}

var never = moment{at: math.MaxInt64}

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.at, other.at), cmp.Compare(m.line, other.line))
}

// parse reads the trace of a process.
func parse(from io.Reader, process string) (calls []*call, err error) {
	lines := bufio.NewReaderSize(from, 1<<20)
	unfinished := map[string]*call{} // by threads
	var previous *call               // if it was written on one line
	for number := 0; ; number++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		thread, rest, _ := strings.Cut(line, " ")
		stamp, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		at, err := nanoseconds(stamp)
		now := moment{at, number}
		if err != nil {
			return nil, fmt.Errorf("%w in %.100q", err, line)
		}
		if previous != nil { // what strace has measured is some nanoseconds off
			previous.ended.at, previous = min(previous.ended.at, at), nil
		}
		if strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "+++") {
			continue
		}
		rest = strings.TrimSuffix(rest, "\n")
		if _, tail, resumed := strings.Cut(rest, " resumed>"); resumed && strings.HasPrefix(rest, "<... ") {
			unfinished[thread].end(tail, now)
			delete(unfinished, thread)
			continue
		}
		name, tail, _ := strings.Cut(rest, "(")
		next := &call{process: process, name: name, began: now, ended: never, result: -1}
		calls = append(calls, next)
		if tail, begun := strings.CutSuffix(tail, " <unfinished ...>"); begun {
			next.add(tail)
			unfinished[thread] = next
			continue
		}
		if next.end(tail, now); next.ended != never {
			previous = next
		}
	}
}

// end reads the end of a call, with its result and its duration: `, 4096, 0) = 4096 <0.000012345>`.
func (c *call) end(tail string, now moment) {
	i := strings.LastIndex(tail, ") = ")
	if i < 0 {
		return // it does not return
	}
	c.add(tail[:i+1])
	result := tail[i+len(") = "):]
	if strings.HasPrefix(result, "?") {
		return // it was killed
	}
	digits := anyNumber.FindString(result)
	c.result, _ = strconv.ParseInt(digits, 0, 64) // an address may be larger, and is not asked for
	if c.ended = now; now == c.began {            // the call is on one line
		lasted, _ := nanoseconds(strings.Trim(result[strings.LastIndex(result, "<"):], "<>"))
		c.ended.at += lasted
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

// newRecorder takes further options of strace, such as "-e inject=linkat:error=EPERM".
func newRecorder(t *testing.T, options ...string) *recorder {
	t.Helper()
	r := &recorder{t: t, directory: t.TempDir()}
	const form = "-y -xx -s 10000000 --absolute-timestamps=format:unix,precision:ns --syscall-times=ns --seccomp-bpf " +
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
	text := fmt.Sprintf("#!/bin/sh\nexec %s -D -f %s %s \"$@\"\n", strace, options, program.Path())
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
