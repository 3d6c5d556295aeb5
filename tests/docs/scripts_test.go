package docs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// begin starts a script of docs/ in a directory, beside a program, with further settings. It is killed when the test ends.
func begin(t *testing.T, p *program.Program, directory, name string, settings ...string) (command *exec.Cmd) {
	t.Helper()
	stderr, err := os.OpenFile(filepath.Join(directory, "stderr"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	program.Must(t, err)
	defer func() { _ = stderr.Close() }() // the script has its own
	path, err := filepath.Abs("../../docs/" + name)
	program.Must(t, err)
	command = exec.Command("sh", path)
	command.Dir, command.Stderr = directory, stderr
	command.Env = append(append(os.Environ(), "API="+p.URL+"/api"), settings...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	program.Must(t, command.Start())
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() }) // its curl, too
	return command
}

// README.md's start with Go is one command.
func TestTheStartWithGoServes(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile(`(?m)^[A-Z_=0-9. ]*go run -tags nomsgpack \.$`).FindString(program.ReadFile(t, "../../README.md"))
	if shown == "" {
		t.Fatal("README.md does not start the service with Go")
	}
	command := exec.Command("sh", "-c", shown)
	command.Dir, command.Env = "../..", append(os.Environ(), "PORT=0", "DATA_DIR="+t.TempDir())
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := command.StderrPipe()
	program.Must(t, err)
	program.Must(t, command.Start())
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() })
	line := bufio.NewScanner(log)
	for line.Scan() {
		if address := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(line.Text()); address != nil {
			program.At(address[1]).Do(t, "GET", "/health", "").Expect(t, 200, `{"status":"ok"}`)
			return
		}
		t.Log(line.Text())
	}
	t.Errorf("%s does not listen", shown)
}

// The script keeps a copy, however often it and the service are killed. jq 1.6 rounds ids above 2^53, to that of another user.
func TestTheScriptKeepsACopyThroughKills(t *testing.T) {
	t.Parallel()
	needTools(t)
	const apart = "LISTEN_ADDRESS=127.0.0.77" // of no client, so that none can take the port while the program is away
	p := program.Serve(t, apart)
	address, err := url.Parse(p.URL)
	program.Must(t, err)
	directory := t.TempDir()
	follower := begin(t, p, directory, "keep-a-copy.sh")
	for round := range 2 {
		for i := range 5 {
			p.Create(t, fmt.Sprintf(`\n "%d" é`, i), fmt.Sprint(round, "-", i))
		}
		p.Do(t, "PATCH", fmt.Sprint("/api/users/", 5*round+1), fmt.Sprintf(`{"name":"round %d"}`, round))
		p.Delete(t, int64(5*round+2))
		expectCopy(t, p, directory)
		_ = follower.Process.Kill() // and its curl goes on
		p.Create(t, "while nothing follows", fmt.Sprint(round))
		p.Kill(t)
		follower = begin(t, p, directory, "keep-a-copy.sh")
		p = program.Serve(t, apart, "DATA_DIR="+p.DataDir, "PORT="+address.Port())
	}
	const odd int64 = 9007199254740993
	program.OpenOther(t, p.DatabasePath()).Insert(
		fmt.Sprintf("INSERT INTO users (id, name, email) VALUES (%d, 'Even', 'even'), (%d, 'Odd', 'odd')", odd-1, odd))
	p.Run(t, "changes", "restart").MustSucceed(t) // the place of the copy is no longer valid
	expectCopy(t, p, directory)
	p.Change(t, odd, `{"name":"\\\"id\\\":1 \"id\":2"}`)
	expectCopy(t, p, directory)
	p.Delete(t, odd)
	expectCopy(t, p, directory)
	p.Do(t, "POST", program.CSV, program.ManyRows(10_001)).Expect(t, 200, "…")
	expectCopy(t, p, directory)
}

// expectCopy waits until the copy in a directory has all users as they are, but for ids as text.
func expectCopy(t *testing.T, p *program.Program, directory string, header ...string) {
	t.Helper()
	want := program.RawUsers(t, p.Do(t, "GET", "/api/users", "", header...))
	program.WaitFor(t, "the copy is complete", func() bool {
		text, _ := os.ReadFile(filepath.Join(directory, "copy.json"))
		var copied struct{ Users map[string]json.RawMessage }
		err := json.Unmarshal(text, &copied)
		got := map[string]string{}
		for id, user := range copied.Users {
			got[id] = strings.Replace(program.WithoutOwn(string(user)), `{"id":"`+id+`",`, `{"id":`+id+`,`, 1)
		}
		return err == nil && maps.Equal(got, want)
	})
}

// Without its key the script says what is wrong, also when it loses the key while it follows; with a key that reads it follows.
func TestTheScriptThatKeepsACopySaysThatItNeedsAKey(t *testing.T) {
	t.Parallel()
	needTools(t)
	const full, read = "key-with-full-access", "key-that-only-reads"
	keys := filepath.Join(t.TempDir(), "keys")
	program.WriteFile(t, keys, read+"\n")
	p := program.Serve(t, "API_KEY="+full, "API_READ_KEY_FILE="+keys)
	directory := t.TempDir()
	says := func(what string) {
		t.Helper()
		program.WaitFor(t, "the script says "+what, func() bool {
			said, err := os.ReadFile(filepath.Join(directory, "stderr"))
			return err == nil && strings.Contains(string(said), what)
		})
	}
	without := begin(t, p, directory, "keep-a-copy.sh")
	says("error: 401")
	_ = without.Process.Kill()
	follower := begin(t, p, directory, "keep-a-copy.sh", "KEY="+read)
	p.Do(t, "POST", "/api/users", program.Body("Ada", "ada@example.org"), "X-API-Key: "+full)
	expectCopy(t, p, directory, "X-API-Key: "+full)
	_ = follower.Process.Kill()
	begin(t, p, directory, "keep-a-copy.sh", "KEY=a-key-that-was-removed")
	says(`the service answers {"error":"The API key is not valid"}401`)
}

// The webhook gets every change at least once and in order, also those that were written while it was away.
func TestTheWebhookGetsEveryChange(t *testing.T) {
	t.Parallel()
	needTools(t)
	var (
		mu  sync.Mutex
		got []string
		off atomic.Bool
	)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if off.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		sent, _ := io.ReadAll(r.Body)
		for _, change := range regexp.MustCompile(`"op":"(\w+)","id":(\d+)`).FindAllStringSubmatch(string(sent), -1) {
			got = append(got, change[1]+" "+change[2])
		}
	}))
	t.Cleanup(hook.Close)
	expect := func(want ...string) {
		t.Helper()
		program.WaitFor(t, strings.Join(want, ", "), func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(slices.Compact(slices.Clone(got)), want) // a kill may let it send again what it has just sent
		})
	}
	p := program.Serve(t)
	directory := t.TempDir()
	p.Create(t, "before", "before") // which the other system has
	first := begin(t, p, directory, "webhook.sh", "HOOK="+hook.URL)
	program.WaitFor(t, "it has its place", func() bool {
		place, err := os.ReadFile(filepath.Join(directory, "cursor.txt"))
		return err == nil && len(place) > 0
	})
	ada := p.Create(t, "Ada", "ada")
	expect("created 2")
	off.Store(true)
	p.Do(t, "PATCH", fmt.Sprint("/api/users/", ada), `{"name":"Ada King"}`)
	_ = first.Process.Kill()
	p.Delete(t, ada)
	off.Store(false)
	begin(t, p, directory, "webhook.sh", "HOOK="+hook.URL)
	expect("created 2", "changed 2", "deleted 2")
}
