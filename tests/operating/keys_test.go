package operating

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

const (
	otherKey = "other-key-0123456789"
	thirdKey = "third-key-0123456789"
	readKey  = "read-key-0123456789"
)

// lineOf is a line for a key as `users-api key hr-sync` prints one.
func lineOf(key string) string { return fmt.Sprintf("hr-sync sha256:%x\n", sha256.Sum256([]byte(key))) }

// hangUp sends SIGHUP, and returns once the log has another line with a text.
func hangUp(t *testing.T, p *program.Program, says string) {
	t.Helper()
	before := strings.Count(p.Log(), says)
	p.Signal(syscall.SIGHUP)
	program.WaitFor(t, "the log says "+says, func() bool { return strings.Count(p.Log(), says) > before })
}

func expectKeys(t *testing.T, p *program.Program, statuses map[string]int) {
	t.Helper()
	for key, status := range statuses {
		p.Do(t, "GET", "/api/users?limit=1", "", "X-API-Key: "+key).To("the key "+key).Expect(t, status, "…")
	}
}

// A request under way is answered, although its key is no longer there.
func TestASIGHUPReadsTheFilesOfKeysAgain(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	path, reads := filepath.Join(directory, "keys"), filepath.Join(directory, "read")
	program.WriteFile(t, path, "old "+fullKey)
	program.WriteFile(t, reads, thirdKey)
	p := program.Serve(t, "API_KEY_FILE="+path, "API_READ_KEY_FILE="+reads)
	before := map[string]int{"": 401, fullKey: 200, otherKey: 401, thirdKey: 200, readKey: 401}
	expectKeys(t, p, before)
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", fullKey)
	conn.Expect("HTTP/1.1 100 Continue\r\n") // it is under way
	conn.Expect("\r\n")
	program.WriteFile(t, path, lineOf(otherKey))
	program.WriteFile(t, reads, readKey)
	hangUp(t, p, `level=INFO msg="the files of keys were read again" keys=1 read_keys=1`)
	now := map[string]int{"": 401, fullKey: 401, otherKey: 200, thirdKey: 401, readKey: 200}
	expectKeys(t, p, now)
	conn.Send("{}")
	conn.Answer().Expect(t, 400, "…")

	program.WriteFile(t, reads, thirdKey) // which counts once the other file can be used, too
	const cannot = `level=ERROR msg="the files of keys cannot be used: the old keys stay valid" error="`
	const unread = "the file that API_KEY_FILE names cannot be read: "
	for says, replace := range map[string]func() error{
		"line 2 of API_KEY_FILE has a key that is too short": func() error { return os.WriteFile(path, []byte(fullKey+"\nhr-sync b"), 0o600) },
		"API_KEY_FILE is set and has no key":                 func() error { return os.WriteFile(path, []byte("# none"), 0o600) },
		unread + "no such file or directory":                 func() error { return nil },
		unread + "not a regular file":                        func() error { return syscall.Mkfifo(path, 0o600) }, // who opens it waits for who writes into it
	} {
		_ = os.Remove(path)
		program.Must(t, replace())
		hangUp(t, p, cannot+says)
		expectKeys(t, p, now)
	}
	_ = os.Remove(path)
	program.WriteFile(t, path, fullKey)
	hangUp(t, p, "were read again")
	expectKeys(t, p, before)
	p.Stop(t)
	program.Forbid(t, p.Log(), fullKey, otherKey, thirdKey, readKey, directory)
}

// It would end another program. systemd and Docker send it, and so does a terminal that is closed.
func TestASIGHUPDoesNothingWithoutAFileOfKeys(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "API_KEY="+fullKey)
	p.Signal(syscall.SIGHUP)
	expectKeys(t, p, map[string]int{fullKey: 200})
	p.Stop(t)
	program.Forbid(t, p.Log(), "files of keys", "ERROR", "WARN")
}

func TestTheNameOfAKeyIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	made := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
	path := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, path, made.Stdout+fullKey+"\nended "+otherKey+" 2000-01-31\n")
	p := program.Serve(t, "API_KEY_FILE="+path, "API_READ_KEY=report "+readKey, "ADMIN_PORT=0")
	named := strings.TrimSpace(made.Stderr)
	p.WaitForLog(t, `level=WARN msg="the last day of some keys is over: they are refused" names=[ended]`)
	for id, c := range map[string]struct {
		request string
		keys    []string
		status  int
		name    string // in the log
	}{
		"a-name":                {"GET /api/users", []string{named}, 200, " key=hr-sync"},
		"no-name":               {"GET /api/users", []string{fullKey}, 200, ""},
		"an-end":                {"GET /api/users", []string{otherKey}, 401, " key=ended"},
		"no-key":                {"GET /api/users", nil, 401, ""},
		"a-wrong-key":           {"GET /api/users", []string{named + "x"}, 401, ""},
		"a-name-alone":          {"GET /api/users", []string{"hr-sync"}, 401, ""},
		"a-sum":                 {"GET /api/users", []string{strings.Fields(made.Stdout)[1]}, 401, ""},
		"a-wrong-one-behind":    {"GET /api/users", []string{named, "x"}, 401, ""},
		"a-read-key-that-wrote": {"DELETE /api/users", []string{readKey}, 403, " key=report"},
		"one-that-reads":        {"GET /api/users", []string{named, readKey}, 200, " key=report"},
		"one-that-reads-first":  {"GET /api/users", []string{readKey, named}, 200, " key=report"},
		"two-full-keys":         {"GET /api/users", []string{named, fullKey}, 200, " key=hr-sync"},
	} {
		request := c.request + "\nX-Request-Id: " + id
		for _, key := range c.keys {
			request += "\nX-API-Key: " + key
		}
		p.Ask(t, request, "").To(id).Expect(t, c.status, "…")
		p.WaitForLog(t, "request_id="+id+c.name+"\n")
	}
	want := map[string]float64{"key=hr-sync": 2, "key=unnamed": 1, "key=ended": 1, "key=report": 3}
	program.Expect(t, "what is counted", program.Scrape(t, p)["http_requests_by_key_total"], want)
}

const (
	fullKey = "full-key-0123456789" // has full access
	nobody  = 65534                 // the uid of the user nobody, who owns nothing
)

func TestOtherUsersCannotReadWhatTheProgramMakes(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	for path, want := range map[string]os.FileMode{
		p.DataDir: 0o700, p.DatabasePath(): 0o600, p.DatabasePath() + "-wal": 0o600, p.DatabasePath() + "-shm": 0o600,
	} {
		info, err := os.Stat(path)
		program.Must(t, err)
		program.Expect(t, "the mode of "+path, info.Mode().Perm(), want)
	}
}

// With a -wal that a kill has left, SQLite opens what it cannot write and lists it. A program that serves then would
// refuse every write and look healthy.
func TestAStartThatCannotWriteEndsAlthoughItCouldRead(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsRoot(t)
	for _, mode := range []os.FileMode{0o755, 0o555, 0} { // of the directory of a read-only file; 0: of a read-only file system
		directory := program.SharedDirectory(t, os.Geteuid())
		p := program.Serve(t, "DATA_DIR="+directory)
		p.Create(t, "Ada", "ada@example.org")
		p.Kill(t)
		if mode == 0 {
			mounted := t.TempDir()
			program.Mount(t, "--bind", directory, mounted)
			program.Mount(t, "-o", "remount,ro,bind", mounted)
			program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+mounted), mounted, "read-only")
			continue
		}
		for _, name := range append(program.NamesIn(t, directory), ".") {
			path := filepath.Join(directory, name)
			program.Must(t, errors.Join(os.Chown(path, nobody, nobody), os.Chmod(path, 0o444)))
		}
		program.Must(t, os.Chmod(directory, mode))
		program.ExpectRefusal(t, program.LaunchAs(t, nobody, program.Path(), "DATA_DIR="+directory), directory, "writ")
	}
}

// As root the program reads what only root may read, the keys. Then it becomes another user, without root's groups, and cannot
// read them again.
func TestStartedAsRootItReadsTheKeysAndServesAsAnotherUser(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t) // to become another user
	for owner, says := range map[int]string{
		0: `level=ERROR msg="the files of keys cannot be used: the old keys stay valid" ` +
			`error="the file that API_KEY_FILE names cannot be read: permission denied" uid=65532`,
		65532: `level=INFO msg="the files of keys were read again" keys=1 read_keys=0`,
	} {
		directory := program.SharedDirectory(t, 0)
		keys := filepath.Join(directory, "keys")
		program.WriteFile(t, keys, fullKey)
		program.Must(t, errors.Join(os.Chmod(keys, 0o600), os.Chown(keys, owner, owner)))
		root := syscall.Credential{Uid: 0, Gid: 0, Groups: []uint32{0, 5000}}
		p := program.LaunchWith(t, root, program.Path(), "DATA_DIR="+directory+"/data", "RUN_AS=65532", "API_KEY_FILE="+keys)
		p.WaitForAddress(t)
		program.Forbid(t, p.Log(), "ERROR")
		hangUp(t, p, says)
		expectKeys(t, p, map[string]int{"": 401, fullKey: 200})
		status := strings.Join(strings.Fields(program.ReadFile(t, fmt.Sprintf("/proc/%d/status", p.PID()))), " ")
		const want = "…Uid: 65532 65532 65532 65532 Gid: 65532 65532 65532 65532 FDSize:…Groups: NStgid:…"
		program.Expect(t, "who serves", status, want)
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
	program.Expect(t, "the owner of "+path, info.Sys().(*syscall.Stat_t).Uid, want)
}
