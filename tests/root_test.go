package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// As root the program reads what only root may read, the keys. Then it becomes another user, without root's groups.
func TestStartedAsRootItReadsTheKeysAndServesAsAnotherUser(t *testing.T) {
	t.Parallel()
	needsRoot(t)                                    // to become another user
	directory, err := os.MkdirTemp("", "users-api") // other users may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(directory, "keys")
	if err := os.WriteFile(keys, []byte(fullKey), 0o600); err != nil {
		t.Fatal(err)
	}
	root := syscall.Credential{Uid: 0, Gid: 0, Groups: []uint32{0, 5000}}
	p := program.LaunchWith(t, root, binary, "DATA_DIR="+filepath.Join(directory, "data"), "RUN_AS=65532", "API_KEY_FILE="+keys)
	p.WaitForAddress(t)
	for key, want := range map[string]int{"": 401, fullKey: 200} {
		if answer := p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key); answer.Status != want {
			t.Errorf("with the key %q it answers %d", key, answer.Status)
		}
	}
	status := read(t, fmt.Sprintf("/proc/%d/status", p.PID()))
	for _, line := range []string{"Uid: 65532 65532 65532 65532", "Gid: 65532 65532 65532 65532", "Groups:"} {
		name, _, _ := strings.Cut(line, ":")
		_, rest, _ := strings.Cut(status, "\n"+name+":")
		rest, _, _ = strings.Cut(rest, "\n")
		if got := strings.Join(strings.Fields(name+": "+rest), " "); got != line {
			t.Errorf("it serves with %q, and not with %q", got, line)
		}
	}
}
