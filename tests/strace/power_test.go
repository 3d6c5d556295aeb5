//go:build strace

package strace

import (
	"fmt"
	"path/filepath"
	"testing"

	"users-api/tests/program"
)

// expectHistory returns a check that the database at a path below the directory agrees with what clients know.
func (x *recording) expectHistory(h *history, path string) check {
	x.t.Helper()
	for _, answer := range h.got {
		if _, seen := x.answers[answer]; !seen {
			x.t.Fatalf("the answer %s is not in the trace", answer)
		}
	}
	return func(directory string, at int) error {
		return reopen(filepath.Join(directory, path), func(found users) error {
			return knowledge{h, x.answers, at, at}.check(found)
		})
	}
}

func TestAPowerCutLosesNothingThatWasAnswered(t *testing.T) {
	recorder, root, h := newRecorder(t), t.TempDir(), newHistory()
	start, path := copyOf(t, root), "new/nested/users.db"
	for _, name := range []string{"a", "b"} {
		p := program.Start(t, recorder.script, "DATA_DIR="+root+"/"+filepath.Dir(path))
		startClients(t, p, h, name, 3, 8)()
		p.Stop(t)
	}
	x := newRecording(recorder, root, start)
	check := x.expectHistory(h, path)
	x.cutPower(check)

	x.expectFound("a start that does not flush the parent of the directory", check, isFlush(root+"/new"))
	x.expectFound("a start that does not flush the parent of that", check, isFlush(root))
	x.expectFound("a -wal file whose name is not flushed", check, isFlush(root+"/new/nested"))
	x.expectFound("commits that are not flushed", check, isFlush(root+"/new/nested/users.db-wal"))
	x.expectFound("a close that does not flush users.db", check, isFlush(root+"/new/nested/users.db"))
}

// What a process had not flushed when it was killed, the next one shows.
func TestAPowerCutAfterAKillLosesNothingThatWasShown(t *testing.T) {
	recorder, root, h := newRecorder(t), t.TempDir(), newHistory()
	start := copyOf(t, root)
	for n, unflushed := 0, 0; unflushed < 2; n++ {
		p := program.Start(t, recorder.script, "DATA_DIR="+root)
		(&client{t: t, p: p, history: h, name: fmt.Sprint("reader", n)}).list()
		wait := startClients(t, p, h, fmt.Sprint("killed", n), 3, 1000)
		program.WaitFor(t, "some writes", func() bool { return h.size() > 100*(n+1) })
		if recorder.kill(p) {
			unflushed++
		}
		wait()
	}
	p := program.Start(t, recorder.script, "DATA_DIR="+root)
	(&client{t: t, p: p, history: h, name: "reader"}).list()
	recorder.kill(p)
	x := newRecording(recorder, root, start)
	x.cutPower(x.expectHistory(h, "users.db"))
}

// A network share or a shared folder may lack what every local file system has. Then a call fails, as strace makes it fail.
func TestAStartOnAFileSystemWithoutWhatSQLiteNeedsSaysWhatHelps(t *testing.T) {
	for name, test := range map[string]struct{ file, call, failure, says string }{
		"without shared memory": {"users.db-shm", "mmap", "ENODEV", "disk I/O error (5386)"},
		"without locks":         {"users.db", "fcntl", "ENOLCK", "locked"},
		"with broken locks":     {"users.db", "fcntl", "EIO", "disk I/O error (3850)"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			const form = "-f -qqq -o /dev/null -P %s/%s -e trace=%s -e inject=%[3]s:error=%s"
			script := underStrace(t, fmt.Sprintf(form, directory, test.file, test.call, test.failure))
			program.ExpectRefusal(t, program.Launch(t, script, "DATA_DIR="+directory),
				directory+"/users.db", test.says, "on a network share", "set DATA_DIR to a directory on a local disk")
		})
	}
}
