package program

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Done is what a backup or a restore that went well says.
var Done = regexp.MustCompile(`^(?:backing up|restoring) \S.* to (?:/\S+|the standard output)\n(backed up|restored): (\d+ users?), (\d+) bytes, \d+\.\d seconds` +
	`(; the old database is (\S+))?\n$`)

// BackUp makes a backup and returns its path.
func BackUp(t testing.TB, dataDir string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "backup.db")
	made := RunCommand(t, dataDir, nil, "backup", target)
	match := Done.FindStringSubmatch(made.Stderr)
	if made.Code != 0 || made.Stdout != "" || match == nil {
		t.Fatalf("the backup ended with %d, %q and %q", made.Code, made.Stdout, made.Stderr)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 || fmt.Sprint(info.Size()) != match[3] {
		t.Fatalf("%s: %v, %v", made.Stderr, info, err)
	}
	return target
}
