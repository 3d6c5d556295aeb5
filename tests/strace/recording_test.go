//go:build strace

package strace

import (
	"cmp"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// A recording is what the program did below a directory, from which power cuts are made.
type recording struct {
	t       testing.TB
	before  string // what was there before
	root    string
	events  []event
	answers map[string]int // the events at which answers began to be sent
	began   map[string]int // and processes
}

// An event is the beginning or the end of a call.
type event struct {
	*call
	begins bool
}

func (e event) when() int64 {
	if e.begins {
		return e.began
	}
	return e.ended
}

// newRecording orders what was recorded. An answer is known by its X-Request-Id, or by its process if that is a command:
// the last thing that it says.
func newRecording(r *recorder, root, before string) *recording {
	x := &recording{t: r.t, before: before, root: root, answers: map[string]int{}, began: map[string]int{}}
	for _, c := range r.read() {
		x.events = append(x.events, event{c, true})
		if c.ended != never {
			x.events = append(x.events, event{c, false})
		}
	}
	slices.SortStableFunc(x.events, func(a, b event) int { return cmp.Compare(a.when(), b.when()) })
	for at, e := range x.events {
		if _, known := x.began[e.process]; !known {
			x.began[e.process] = at
		}
		if number, _ := e.file(); !e.begins || e.name != "write" && e.name != "writev" || len(e.texts) == 0 {
			continue
		} else if number == 1 || number == 2 {
			x.answers[e.process] = at
		} else if answer := anyAnswer.FindStringSubmatch(e.texts[0]); answer != nil {
			x.answers[answer[1]] = at
		}
	}
	return x
}

var anyAnswer = regexp.MustCompile(`^HTTP/1\.1 [^\x00]*\r\nX-Request-Id: (\S+)\r\n`)

// replay carries out the events, and calls visit after each with the disk.
func (x *recording) replay(visit func(at int, d *disk)) {
	x.t.Helper()
	d := &disk{t: x.t, root: x.root, top: readInode(x.t, x.before), files: map[descriptor]*opened{}}
	for at, e := range x.events {
		switch {
		case e.begins && e.result >= 0:
			d.begin(e.call)
		case !e.begins && e.result >= 0:
			d.end(e.call)
		}
		visit(at, d)
	}
}

// expectTrue fails the test unless all events together have made of the directory what it is.
func (x *recording) expectTrue() {
	x.t.Helper()
	computed := x.t.TempDir()
	x.replay(func(at int, d *disk) {
		if at == len(x.events)-1 {
			d.writeTo(computed, everything)
		}
	})
	if output, err := exec.Command("diff", "--recursive", "--brief", "--exclude=*-shm", x.root, computed).CombinedOutput(); err != nil {
		x.t.Fatalf("what the trace makes of %s is not what it is: %v\n%s", x.root, err, output)
	}
}
