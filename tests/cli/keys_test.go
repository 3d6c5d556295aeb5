package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

const otherKey = "other-key-0123456789"

// lineOf is a line for a key as `users-api key hr-sync` prints one.
func lineOf(key string) string { return fmt.Sprintf("hr-sync sha256:%x\n", sha256.Sum256([]byte(key))) }

// expectKey waits until a key is answered with a status. commands/key_test.go has the 5 s that are promised.
func expectKey(t *testing.T, p *program.Program, key string, status int) {
	t.Helper()
	program.WaitFor(t, fmt.Sprintf("the key is answered %d", status), func() bool {
		return p.Do(t, "GET", "/api/users?limit=1", "", "X-API-Key: "+key).Status == status
	})
}

// A request under way is answered, although its key is no longer there. Kubernetes has keys -> ..data/keys and
// ..data -> ..TIME, and replaces ..data.
func TestTheKeysFollowTheirFile(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	version := func(name, text string) {
		program.Must(t, os.Mkdir(filepath.Join(directory, name), 0o700))
		program.WriteFile(t, filepath.Join(directory, name, "keys"), text)
		program.Must(t, os.Symlink(name, filepath.Join(directory, "link")))
		program.Must(t, os.Rename(filepath.Join(directory, "link"), filepath.Join(directory, "..data")))
	}
	version("..1", "old "+fullKey)
	path := filepath.Join(directory, "keys")
	program.Must(t, os.Symlink("..data/keys", path))
	p := program.Serve(t, "API_KEY_FILE="+path)
	expectKey(t, p, otherKey, 401)
	program.Forbid(t, p.Log(), "last day")
	conn := p.Dial(t)
	conn.Send("POST /api/users HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", fullKey)
	conn.Expect("HTTP/1.1 100 Continue\r\n") // it is under way
	conn.Expect("\r\n")
	version("..2", lineOf(otherKey))
	expectKey(t, p, otherKey, 200)
	expectKey(t, p, fullKey, 401)
	conn.Send("{}")
	conn.Answer().Expect(t, 400, "…")
	program.Expect(t, "how often the keys were reread", strings.Count(p.Log(), "the keys were reread"), 1)

	program.Must(t, os.Remove(path))
	program.Must(t, syscall.Mkfifo(path, 0o600)) // who opens it waits for who writes into it
	p.WaitForLog(t, `level=ERROR msg="the new keys cannot be used: the old ones stay valid" `+
		`error="the file that API_KEY_FILE names cannot be read: not a regular file: write the text into one"`)
	expectKey(t, p, otherKey, 200)
	expectKey(t, p, "", 401)
	p.Stop(t)
	program.Forbid(t, p.Log(), fullKey, otherKey, directory)
}

func TestTheNameOfAKeyIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	made := program.RunCommand(t, t.TempDir(), nil, "key", "hr-sync")
	path := filepath.Join(t.TempDir(), "keys")
	const second, reads = "second-key-0123456789", "read-key-0123456789"
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
