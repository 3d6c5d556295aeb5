package operations

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// fullKey is a key with full access.
const fullKey = "full-key-0123456789"

// As root the program reads what only root may read, the keys. Then it becomes another user, without root's groups.
func TestStartedAsRootItReadsTheKeysAndServesAsAnotherUser(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t) // to become another user
	directory := program.SharedDirectory(t, 0)
	keys := filepath.Join(directory, "keys")
	program.Must(t, os.WriteFile(keys, []byte(fullKey), 0o600))
	root := syscall.Credential{Uid: 0, Gid: 0, Groups: []uint32{0, 5000}}
	p := program.LaunchWith(t, root, program.Path(), "DATA_DIR="+filepath.Join(directory, "data"), "RUN_AS=65532", "API_KEY_FILE="+keys)
	p.WaitForAddress(t)
	for key, want := range map[string]int{"": 401, fullKey: 200} {
		p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key).Expect(t, want, "…")
	}
	status := program.ReadFile(t, fmt.Sprintf("/proc/%d/status", p.PID()))
	for _, line := range []string{"Uid: 65532 65532 65532 65532", "Gid: 65532 65532 65532 65532", "Groups:"} {
		name, _, _ := strings.Cut(line, ":")
		_, rest, _ := strings.Cut(status, "\n"+name+":")
		rest, _, _ = strings.Cut(rest, "\n")
		if got := strings.Join(strings.Fields(name+": "+rest), " "); got != line {
			t.Errorf("it serves with %q, and not with %q", got, line)
		}
	}
}

// What root made in a data directory, and a directory for backups that root owns, are handed over. So are the files of a
// command that root runs: the service could not open them otherwise.
func TestStartedAsRootItHandsItsFilesOver(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t) // to become another user
	program.NeedsFile(t, program.Files)
	directory := program.SharedDirectory(t, 0)
	data, backups := filepath.Join(directory, "data"), filepath.Join(directory, "backups")
	settings := []string{"DATA_DIR=" + data, "BACKUP_EVERY=24h", "BACKUP_DIR=" + backups}
	asRoot := program.Serve(t, "DATA_DIR="+data)
	asRoot.Create(t, "Ada", "ada@example.org")
	asRoot.Kill(t) // so that it leaves -wal and -shm
	program.Must(t, os.Mkdir(backups, 0o700))
	p := program.Serve(t, append(settings, "RUN_AS=65532")...)
	p.Create(t, "Alan", "alan@example.org")
	p.WaitForLog(t, "backup made")
	p.Stop(t)
	for _, path := range []string{data, filepath.Join(data, "users.db"), backups} {
		expectOwner(t, path, 65532)
	}
	made := filepath.Join(backups, program.NamesIn(t, backups)[0])
	changed := program.Serve(t, "DATA_DIR="+filepath.Join(directory, "changed"))
	changed.Stop(t)
	for directory, command := range map[string][]string{
		filepath.Join(directory, "restored"): {"restore", made}, changed.DataDir: {"add-field", "room"},
	} {
		program.RunWith(t, []string{"DATA_DIR=" + directory, "RUN_AS=65532"}, nil, command...).MustSucceed(t)
		expectOwner(t, filepath.Join(directory, "users.db"), 65532)
	}
}

func expectOwner(t *testing.T, path string, want uint32) {
	t.Helper()
	info, err := os.Stat(path)
	program.Must(t, err)
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != want {
		t.Errorf("%s belongs to %d, and not to %d", path, owner, want)
	}
}
