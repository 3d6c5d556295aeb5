package operations

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

const otherKey = "other-key-0123456789"

// expectKey waits until a key is answered with a status, at most the 5 s that are promised and what a busy machine adds.
func expectKey(t *testing.T, p *program.Program, key string, status int) {
	t.Helper()
	start := time.Now()
	program.WaitFor(t, fmt.Sprintf("the key is answered %d", status), func() bool {
		return p.Do(t, "GET", "/api/users?limit=1", "", "X-API-Key: "+key).Status == status
	})
	t.Logf("after %v", time.Since(start))
}

// A request under way is answered, although its key is no longer there.
func TestTheKeysFollowTheirFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, path, "old "+fullKey)
	p := program.Serve(t, "API_KEY_FILE="+path, "ADMIN_PORT=0")
	expectKey(t, p, otherKey, 401)
	program.Forbid(t, p.Log(), "last day")
	conn := beginRequest(t, p, fullKey)
	program.WriteFile(t, path+".new", addKey(t, otherKey))
	program.Must(t, os.Rename(path+".new", path))
	expectKey(t, p, otherKey, 200)
	expectKey(t, p, fullKey, 401)
	conn.Send("}")
	conn.Answer().Expect(t, 400, "…")
	if n := strings.Count(p.Log(), "the keys were reread"); n != 1 {
		t.Errorf("it says %d times that keys were reread:\n%s", n, p.Log())
	}

	program.Must(t, os.Remove(path))
	program.Must(t, syscall.Mkfifo(path, 0o600)) // who opens it waits for who writes into it
	p.WaitForLog(t, `level=ERROR msg="the new keys cannot be used: the old ones stay valid" `+
		`error="the file that API_KEY_FILE names cannot be read: not a regular file: write the text into one"`)
	expectKey(t, p, otherKey, 200)
	expectKey(t, p, "", 401)
	p.Stop(t)
	program.Forbid(t, p.Log(), fullKey, otherKey, filepath.Dir(path))
}

// addKey is a line for a key as `users-api key hr-sync` prints one.
func addKey(t *testing.T, key string) string {
	t.Helper()
	sum, err := exec.Command("sh", "-c", "printf %s \"$0\" | sha256sum", key).Output()
	program.Must(t, err)
	return "hr-sync sha256:" + string(sum[:64]) + "\n"
}

func TestAKeyFromTheCommandIsTakenByTheServiceAndItsNameIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	made := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
	path := filepath.Join(t.TempDir(), "keys")
	const second, reads = "second-key-0123456789", "read-key-0123456789"
	program.WriteFile(t, path, made.Stdout+fullKey+"\nended "+otherKey+" 2000-01-31\n"+addKey(t, second))
	p := program.Serve(t, "API_KEY_FILE="+path, "API_READ_KEY=report "+reads, "ADMIN_PORT=0")
	named := strings.TrimSpace(made.Stderr)
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
		if answer := conn.Answer(); answer.Status != c.status {
			t.Errorf("%s is answered %d %s", id, answer.Status, answer.Body)
		}
		p.WaitForLog(t, "request_id="+id+c.name+"\n")
	}
	got := program.Scrape(t, p)["http_requests_by_key_total"]
	want := map[string]float64{"key=hr-sync": 3, "key=unnamed": 1, "key=ended": 1, "key=report": 4}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted are %v, want %v", got, want)
	}
}

// Root reads the file before the service becomes another user, which cannot.
func TestAFileOfKeysThatOnlyRootReadsIsAWarningAndNoError(t *testing.T) {
	t.Parallel()
	program.NeedsRoot(t)
	for _, c := range []struct {
		owner    int
		warnings int
	}{{0, 1}, {65532, 0}} {
		directory := program.SharedDirectory(t, 0)
		keys := filepath.Join(directory, "keys")
		program.WriteFile(t, keys, fullKey)
		program.Must(t, errors.Join(os.Chmod(keys, 0o600), os.Chown(keys, c.owner, c.owner)))
		p := program.LaunchWith(t, syscall.Credential{Groups: []uint32{0}}, program.Path(),
			"DATA_DIR="+filepath.Join(directory, "data"), "RUN_AS=65532", "API_KEY_FILE="+keys)
		p.WaitForAddress(t)
		expectKey(t, p, fullKey, 200)
		const says = `level=WARN msg="a change to the files of keys needs a restart" reason="the file that API_KEY_FILE names ` +
			`cannot be read: permission denied" help="make it a regular file that uid 65532 can read"`
		if n := strings.Count(p.Log(), says); n != c.warnings || strings.Contains(p.Log(), "ERROR") {
			t.Errorf("the file of %d is warned of %d times:\n%s", c.owner, n, p.Log())
		}
	}
}

func TestTheServiceStartsNoProcess(t *testing.T) {
	t.Parallel()
	files := 0
	for _, directory := range []string{"", "commands", "config", "controllers", "models", "models/*", "routes", "web"} {
		paths, err := filepath.Glob("../../" + directory + "/*.go")
		program.Must(t, err)
		for _, path := range paths {
			if !strings.HasSuffix(path, "_test.go") {
				files++
				program.Forbid(t, program.ReadFile(t, path), "os/exec", "StartProcess", "ForkExec")
			}
		}
	}
	if files < 80 {
		t.Errorf("the program has %d files", files)
	}
}

// The open of a pipe would wait for a program that writes it, and no signal ends that.
func TestAPipeInPlaceOfAFileOfASecretEndsTheStart(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "keys")
	program.Must(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{"API_KEY_FILE", "API_READ_KEY_FILE", "DATABASE_URL_FILE"} {
		p := program.Launch(t, program.Path(), name+"="+pipe)
		program.ExpectRefusal(t, p, "the file that "+name+" names cannot be read: not a regular file: write the text into one")
	}
}
