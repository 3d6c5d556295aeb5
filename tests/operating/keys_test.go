package operating

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// A request under way is answered, although its key is no longer there. Kubernetes has keys -> ..data/keys and
// ..data -> ..TIME, and replaces ..data.
func TestASIGHUPReadsTheFilesOfKeysAgain(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	version := func(name, text string) {
		program.Must(t, os.Mkdir(filepath.Join(directory, name), 0o700))
		program.WriteFile(t, filepath.Join(directory, name, "keys"), text)
		program.Must(t, os.Symlink(name, filepath.Join(directory, "link")))
		program.Must(t, os.Rename(filepath.Join(directory, "link"), filepath.Join(directory, "..data")))
	}
	version("..1", "old "+fullKey)
	path, reads := filepath.Join(directory, "keys"), filepath.Join(directory, "read")
	program.Must(t, os.Symlink("..data/keys", path))
	program.WriteFile(t, reads, thirdKey)
	p := program.Serve(t, "API_KEY_FILE="+path, "API_READ_KEY_FILE="+reads)
	expectKeys(t, p, map[string]int{"": 401, fullKey: 200, otherKey: 401, thirdKey: 200, readKey: 401})
	program.Forbid(t, p.Log(), "last day")
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", fullKey)
	conn.Expect("HTTP/1.1 100 Continue\r\n") // it is under way
	conn.Expect("\r\n")
	version("..2", lineOf(otherKey))
	program.WriteFile(t, reads, readKey)
	const read = `level=INFO msg="the files of keys were read again" keys=1 read_keys=1`
	hangUp(t, p, read)
	now := map[string]int{"": 401, fullKey: 401, otherKey: 200, thirdKey: 401, readKey: 200}
	expectKeys(t, p, now)
	conn.Send("{}")
	conn.Answer().Expect(t, 400, "…")

	program.WriteFile(t, reads, thirdKey) // which counts once the other file can be used, too
	const unusable = `level=ERROR msg="the files of keys cannot be used: the old keys stay valid" error="`
	for name, text := range map[string]string{
		"line 2 of API_KEY_FILE has a key that is too short": fullKey + "\nhr-sync b",
		"API_KEY_FILE is set and has no key":                 "# none",
	} {
		program.Must(t, errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600)))
		hangUp(t, p, unusable+name)
		expectKeys(t, p, now)
	}
	program.Must(t, os.Remove(path))
	hangUp(t, p, unusable+"the file that API_KEY_FILE names cannot be read: no such file or directory")
	program.Must(t, syscall.Mkfifo(path, 0o600)) // who opens it waits for who writes into it
	hangUp(t, p, unusable+"the file that API_KEY_FILE names cannot be read: not a regular file")
	expectKeys(t, p, now)
	program.Must(t, os.Remove(path))
	program.WriteFile(t, path, fullKey)
	hangUp(t, p, read)
	expectKeys(t, p, map[string]int{"": 401, fullKey: 200, otherKey: 401, thirdKey: 200, readKey: 401})
	p.Stop(t)
	program.Forbid(t, p.Log(), fullKey, otherKey, thirdKey, readKey, directory)
}

// It would end another program. systemd and Docker send it, and so does a terminal that is closed.
func TestASIGHUPDoesNothingWithoutAFileOfKeys(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"NODE_ENV=", "API_KEY=" + fullKey} {
		p := program.Serve(t, setting)
		p.Signal(syscall.SIGHUP)
		expectKeys(t, p, map[string]int{fullKey: 200})
		p.Stop(t)
		program.Forbid(t, p.Log(), "files of keys", "ERROR", "WARN")
	}
}

func TestTheNameOfAKeyIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	made := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
	path := filepath.Join(t.TempDir(), "keys")
	const second, reads = "second-key-0123456789", readKey
	program.WriteFile(t, path, made.Stdout+fullKey+"\nended "+otherKey+" 2000-01-31\n"+lineOf(second))
	p := program.Serve(t, "API_KEY_FILE="+path, "API_READ_KEY=report "+reads, "ADMIN_PORT=0")
	named := strings.TrimSpace(made.Stderr)
	_, sum, _ := strings.Cut(strings.TrimSpace(made.Stdout), " ")
	p.WaitForLog(t, `level=WARN msg="the last day of some keys is over: they are refused" names=[ended]`)
	for id, c := range map[string]struct {
		method string
		keys   []string
		status int
		name   string // in the log
	}{
		"a-name":                {"GET", []string{named}, 200, " key=hr-sync"},
		"no-name":               {"GET", []string{fullKey}, 200, ""},
		"an-end":                {"GET", []string{otherKey}, 401, " key=ended"},
		"no-key":                {"GET", nil, 401, ""},
		"a-wrong-key":           {"GET", []string{named + "x"}, 401, ""},
		"a-name-alone":          {"GET", []string{"hr-sync"}, 401, ""},
		"a-sum":                 {"GET", []string{sum}, 401, ""},
		"a-wrong-one-behind":    {"GET", []string{named, "x"}, 401, ""},
		"a-read-key":            {"GET", []string{reads}, 200, " key=report"},
		"a-read-key-that-wrote": {"DELETE", []string{reads}, 403, " key=report"},
		"one-that-reads":        {"GET", []string{named, reads}, 200, " key=report"},
		"one-that-reads-first":  {"GET", []string{reads, named}, 200, " key=report"},
		"two-of-one-name":       {"GET", []string{named, second}, 200, " key=hr-sync"},
		"two-full-keys":         {"GET", []string{named, fullKey}, 200, " key=hr-sync"},
	} {
		conn := p.Dial(t)
		conn.Send("%s /api/users HTTP/1.1\r\nHost: x\r\nX-Request-Id: %s\r\n", c.method, id)
		for _, key := range c.keys {
			conn.Send("X-API-Key: %s\r\n", key)
		}
		conn.Send("\r\n")
		conn.Answer().To(id).Expect(t, c.status, "…")
		p.WaitForLog(t, "request_id="+id+c.name+"\n")
	}
	got := program.Scrape(t, p)["http_requests_by_key_total"]
	want := map[string]float64{"key=hr-sync": 3, "key=unnamed": 1, "key=ended": 1, "key=report": 4}
	program.Expect(t, "what is counted", got, want)
}

const (
	fullKey = "full-key-0123456789" // has full access
	nobody  = 65534                 // the uid of the user nobody, who owns nothing
)

// expectMode compares who may do what with a file or directory.
func expectMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	program.Must(t, err)
	program.Expect(t, "the mode of "+path, info.Mode().Perm(), want)
}

func TestOtherUsersCannotReadWhatTheProgramMakes(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	parent := t.TempDir()
	made, kept, empty := filepath.Join(parent, "made"), filepath.Join(parent, "kept"), filepath.Join(parent, "empty")
	program.Must(t, errors.Join(os.Mkdir(kept, 0o755), os.Mkdir(empty, 0o755)))
	program.WriteFile(t, filepath.Join(empty, "users.db"), "") // an empty file is an empty database
	for directory, modes := range map[string][2]os.FileMode{made: {0o700, 0o600}, kept: {0o755, 0o600}, empty: {0o755, 0o644}} {
		p := program.Serve(t, "DATA_DIR="+directory)
		p.Create(t, "Ada", "ada@example.org")
		p.List(t)
		expectMode(t, directory, modes[0])
		for _, ending := range []string{"", "-wal", "-shm"} {
			expectMode(t, p.DatabasePath()+ending, modes[1])
		}
	}
}

// killed returns a directory with a database and the -wal that a kill has left.
func killed(t *testing.T) string {
	t.Helper()
	directory := program.SharedDirectory(t, os.Geteuid())
	p := program.Serve(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	p.Kill(t)
	_, err := os.Stat(p.DatabasePath() + "-wal")
	program.Must(t, err)
	return directory
}

// With a -wal that a kill has left, SQLite opens what it cannot write and lists it. A program that serves then would
// refuse every write and look healthy.
func TestAStartThatCannotWriteEndsAlthoughItCouldRead(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	program.NeedsRoot(t)
	for _, mode := range []os.FileMode{0o755, 0o555} { // of the directory of a read-only file
		directory := killed(t)
		files, err := filepath.Glob(filepath.Join(directory, "*"))
		program.Must(t, err)
		for _, path := range append(files, directory) {
			program.Must(t, errors.Join(os.Chown(path, nobody, nobody), os.Chmod(path, 0o444)))
		}
		program.Must(t, os.Chmod(directory, mode))
		program.ExpectRefusal(t, program.LaunchAs(t, nobody, program.Path(), "DATA_DIR="+directory), directory, "writ")
	}
	for _, wal := range []bool{true, false} {
		directory, mounted := killed(t), t.TempDir()
		if !wal {
			program.Serve(t, "DATA_DIR="+directory).Stop(t)
		}
		program.Mount(t, "--bind", directory, mounted)
		program.Mount(t, "-o", "remount,ro,bind", mounted)
		program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+mounted), mounted, "read-only")
	}
}

func TestAPortThatNeedsRightsIsNotSaidToBeTaken(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t) // to become another user
	first := strings.TrimSpace(program.ReadFile(t, "/proc/sys/net/ipv4/ip_unprivileged_port_start"))
	if number, err := strconv.Atoi(first); err != nil || number <= 80 {
		t.Skipf("anybody may listen on port 80 here: %q, %v", first, err)
	}
	p := program.LaunchAs(t, nobody, program.Path(), "DATA_DIR="+program.SharedDirectory(t, nobody), "PORT=80")
	program.ExpectRefusal(t, p, "cannot listen on port 80", "permission denied", "1024", "NET_BIND_SERVICE")
	program.Forbid(t, p.Log(), "program that has it")
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

// In a user namespace, root is an ordinary user outside, and another uid may not exist: the error says what to do, and that
// works.
func TestStartedAsTheRootOfANamespaceItSaysHowToStayRoot(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	script := filepath.Join(t.TempDir(), "namespace")
	program.Must(t, os.WriteFile(script, []byte("#!/bin/sh\nexec unshare --user --map-root-user "+program.Path()+"\n"), 0o755))
	if err := exec.Command("unshare", "--user", "--map-root-user", "true").Run(); err != nil {
		t.Skipf("no user namespaces here: %v", err)
	}
	program.ExpectRefusal(t, program.Launch(t, script, "RUN_AS=65532"), "cannot become uid 65532", "set RUN_AS=0")
	p := program.Start(t, script, "RUN_AS=0")
	p.Create(t, "Ada", "ada@example.org")
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
