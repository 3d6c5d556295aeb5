package linearizability

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// The clock of the wall jumps by hours, days and years, to and fro, several times a second. The service must not rely
// on it. What measures how long something takes, and SQLite, which asks the kernel for created_at, have the real time.
//
// libfaketime can do nothing here: Go asks the kernel for the time itself, also in a program that is linked to libc. So
// this program is built with another time.Now. That compiles everything once more, and so takes minutes.
func TestClocksThatJump(t *testing.T) {
	t.Parallel()
	program.NeedsLong(t)
	path, err := program.Build(t.TempDir(), "-overlay="+jumping(t))
	program.Must(t, err)
	s := newSetup(t, same(processes, database(t))...)
	for _, each := range s.places {
		each.path = path
	}
	s.restart()
	s.faults = []fault{none, killed, paused}
	s.run()
}

// jumping returns the path of an overlay that makes time.Now jump.
func jumping(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	program.Must(t, err)
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text := program.ReadFile(t, original)
	const read = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	if strings.Count(text, read) != 1 {
		t.Fatalf("time.Now is not what it was: %s", original)
	}
	const jump = "\tsec, nsec, mono := runtimeNow()\n" +
		"\tsec += [...]int64{0, 7200, -86400, 1, -3600, 0, -31536000, 63072000}[mono>>27&7]\n\tif mono == 0 {"
	changed := filepath.Join(t.TempDir(), "time.go")
	program.WriteFile(t, changed, strings.Replace(text, read, jump, 1))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	program.Must(t, err)
	path := filepath.Join(t.TempDir(), "overlay.json")
	program.WriteFile(t, path, string(overlay))
	return path
}
