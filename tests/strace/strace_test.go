//go:build strace

package strace

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// steps returns the system calls that went well, in order, such as "flush /a/b", "mkdir /a" or "rename /a /b".
func steps(calls []*call) (found []string) {
	for _, c := range calls {
		name := strings.TrimSuffix(strings.TrimSuffix(c.name, "2"), "at")
		switch {
		case c.result < 0:
		case strings.HasSuffix(c.name, "sync"):
			_, path := c.file()
			found = append(found, "flush "+path)
		case name == "mkdir", name == "rename":
			found = append(found, name+" "+strings.Join(c.texts, " "))
		}
	}
	return found
}

// expectOrder fails unless these steps are among those found, in this order.
func expectOrder(t *testing.T, found []string, want ...string) {
	t.Helper()
	from := 0
	for _, step := range want {
		at := slices.IndexFunc(found[from:], func(s string) bool { return regexp.MustCompile("^" + step + "$").MatchString(s) })
		if at < 0 {
			t.Fatalf("%q is not behind the others of %q in:\n%s", step, want, strings.Join(found, "\n"))
		}
		from += at + 1
	}
}

func TestEachDirectoryThatIsMadeIsOnDisk(t *testing.T) {
	for name, settings := range map[string][]string{
		"as any user":               nil,
		"as root, for another user": {"RUN_AS=65532"}, // which another user than root ignores
	} {
		t.Run(name, func(t *testing.T) {
			recorder, root := newRecorder(t), t.TempDir()
			if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { // for the other user
				t.Fatal(err)
			}
			p := program.Start(t, recorder.script, append(settings, "DATA_DIR="+root+"/a/b", "BACKUP_EVERY=1h")...)
			p.WaitForLog(t, "backup made")
			p.Kill(t)
			found := steps(recorder.read())
			expectOrder(t, found, "mkdir "+root+"/a", "flush "+root)
			expectOrder(t, found, "mkdir "+root+"/a/b", "flush "+root+"/a")
			expectOrder(t, found, "mkdir "+root+"/a/b/backups", "flush "+root+"/a/b")
		})
	}
}

func TestTheWALFileOfAReplacedDatabaseIsMovedAwayOnDisk(t *testing.T) {
	recorder, root := newRecorder(t), t.TempDir()
	p := program.Start(t, recorder.script, "DATA_DIR="+root)
	p.Create(t, "Ada", "ada@example.org")
	program.Must(t, os.Rename(program.BackUp(t, root), root+"/users.db"))
	p.Wait(t)
	expectOrder(t, steps(recorder.read()), "rename "+root+"/users.db-wal "+root+`/users.db-wal.lost-\S+`, "flush "+root)
}
