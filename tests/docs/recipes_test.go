package docs

import (
	"bufio"
	"bytes"
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

const (
	readme     = "../../README.md"
	recipes    = "../../docs/recipes.md"
	withFields = "USER_FIELDS=department,room,active,updated_at" // as docs/recipes.md says
	key        = "a-key-with-full-access"
)

// A recipe is a block that a document shows, and below it what it prints. It is refused if that is an error.
type recipe struct {
	script, prints string
	refused        bool
}

var (
	shownRecipe = regexp.MustCompile("(?s)```sh\n(.*?)```\n```answer\n(.*?)```")
	shownBegin  = regexp.MustCompile("(?s)```shell\n(api=.*?)```")
	shownError  = regexp.MustCompile(`^\{("error"|.*"status":4)`)
	ofTests     = strings.NewReplacer("',Zoe,zoe@new.example,", "',Zoe,zoe@new.example,"+program.OwnCells(), // a row of all columns
		"key:hr-sync", "nobody") // as in these tests, which need no key
)

// recipesOf returns what a document says to paste before its recipes, and them. README.md shows the API first, without these lines.
// The test fails when a block has no answer below it.
func recipesOf(t *testing.T, path string) (begin string, found []recipe) {
	t.Helper()
	text := program.ReadFile(t, path)
	for _, match := range shownRecipe.FindAllStringSubmatch(text, -1) {
		refused := strings.Contains(match[1], "ask ") && shownError.MatchString(match[2])
		found = append(found, recipe{ofTests.Replace(match[1]), match[2], refused})
	}
	lines := shownBegin.FindStringSubmatch(text)
	if shown := strings.Count(text, "```sh\n"); lines == nil || len(found) != shown || shown < 5 {
		t.Fatalf("%d of %d scripts in %s have an answer below them, and they begin with %q", len(found), shown, path, lines)
	}
	return lines[1], found
}

// inEarnest is a script after its reader has changed the one word that makes it more than a dry run.
func inEarnest(script string) string {
	return strings.NewReplacer("echo ask ", "ask ", "dry_run=true", "dry_run=false").Replace(script)
}

// needTools skips a test that runs scripts where a program that they call is missing.
func needTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range append(names, "sh", "curl", "jq") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("the scripts need %s, which is not here", name)
		}
	}
}

// eachShell runs a test in a shell for scripts, and in two that people paste into. An interactive zsh, as on a Mac, has no
// comments.
func eachShell(t *testing.T, test func(t *testing.T, shell string)) {
	t.Helper()
	for _, shell := range []string{"dash", "bash --norc -i", "zsh -f -i"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			needTools(t, strings.Fields(shell)[0])
			test(t, shell)
		})
	}
}

// What a pasted script has printed, and how it ended.
type pasted struct{ stdout, stderr, code string }

var ended = regexp.MustCompile(`\n--- (\d+)\n`)

// paste types scripts into one shell, one after the other. localhost:3000 is the program, and `users-api` is its commands.
func paste(t *testing.T, shell string, p *program.Program, directory string, scripts ...string) (done []pasted) {
	t.Helper()
	const end = "\ncode=$?; printf '\\n--- %s\\n' $code; printf '\\n--- %s\\n' $code >&2\n"
	typed := strings.ReplaceAll(strings.Join(scripts, end)+end, "http://localhost:3000", p.URL)
	words, home := strings.Fields(shell), t.TempDir()
	var stdout, stderr bytes.Buffer
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(typed), &stdout, &stderr
	command.Dir, command.Env = directory, append(os.Environ(), "HOME="+home, "DATA_DIR="+p.DataDir, "KEY="+key,
		"PATH="+filepath.Dir(program.Path())+":"+os.Getenv("PATH"))
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interactive shell takes the terminal, if there is one
	_ = command.Run()
	codes := ended.FindAllStringSubmatch(stdout.String(), -1)
	outs, errs := ended.Split(stdout.String(), -1), ended.Split(stderr.String(), -1)
	if len(codes) != len(scripts) || len(errs) != len(outs) {
		t.Fatalf("the shell ended after %d of %d scripts:\n%s", len(codes), len(scripts), stderr.String())
	}
	for i, code := range codes {
		done = append(done, pasted{strings.ReplaceAll(outs[i], p.URL, "http://localhost:3000"), errs[i], code[1]})
	}
	return done
}

// shown is what a terminal shows, without what differs from run to run.
func shown(text string) string {
	text = strings.ReplaceAll(program.WithoutOwn(text), "\r\n", "\n")
	text = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(`"[0-9a-f]{32}"`).ReplaceAllString(text, "ETAG")
}

// Each document is pasted from top to bottom, and what is a dry run then in earnest. It must neither stumble over the names in the
// repository's root, nor leave a file behind, but for the directory that it names.
func TestEachRecipeDoesWhatItSays(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Readme)
	const names = `for name in *; do if [ -d "$name" ]; then mkdir "$0/$name"; else cp "$name" "$0"; fi; done`
	contents := func(directory string) string {
		text, _ := exec.Command("sh", "-c", `cd "$0" && ls -R && cksum *`, directory).Output()
		return string(text)
	}
	eachShell(t, func(t *testing.T, shell string) {
		for _, document := range []struct {
			path, setting string
			leaves        []string
		}{
			{readme, "USER_FIELDS=", []string{"Ada King", "Alan"}},
			{recipes, withFields, []string{"Ada", "Bob", "Eve", "Zoe"}},
		} {
			p, directory := program.Serve(t, document.setting), t.TempDir()
			root := exec.Command("sh", "-c", names, directory)
			root.Dir = "../.."
			program.Must(t, root.Run())
			before := contents(directory)
			begin, found := recipesOf(t, document.path)
			steps := []recipe{{script: begin}}
			for _, r := range found {
				steps = append(steps, r)
				if earnest := inEarnest(r.script); earnest != r.script {
					steps = append(steps, recipe{script: earnest, refused: r.refused})
				}
			}
			var scripts []string
			for _, step := range steps {
				scripts = append(scripts, step.script)
			}
			for i, got := range paste(t, shell, p, directory, scripts...) {
				step := steps[i]
				if step.prints != "" && shown(got.stdout) != shown(step.prints) || (got.code != "0") != step.refused {
					t.Errorf("%s\nends with %s and prints\n%s\nand %s shows\n%s\n%s",
						step.script, got.code, got.stdout, document.path, step.prints, got.stderr)
				}
			}
			p.ExpectUsers(t, document.leaves...)
			_ = os.RemoveAll(filepath.Join(directory, "excel"))
			program.Expect(t, "what is in the directory", contents(directory), before)
		}
	})
}

// others are the users of somebody else's registry: some have what the recipes look for.
const others = "name,email,department,room,active\nMoney,money@example.com,Sales,012,\n=1+1,it@example.com,IT,,true\n" +
	"'Quoted,quoted@example.com,,,false\n\"Boss, the\",boss@example.com,Sales,,\n"

// The recipes as they stand, pasted into the shell of somebody who has other users: these stay as they are.
func TestARecipeHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell string) {
		p, directory := program.Serve(t, withFields), t.TempDir()
		p.Do(t, "POST", program.CSV, others).Expect(t, 200, "…")
		p.Do(t, "POST", program.NDJSON, `{"name":"Empty","email":"empty@example.com","department":"","room":"\r"}`).Expect(t, 200, "…")
		before := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))
		for _, path := range []string{readme, recipes} {
			begin, found := recipesOf(t, path)
			scripts := []string{begin}
			for _, r := range found {
				scripts = append(scripts, r.script)
			}
			paste(t, shell, p, directory, scripts...)
		}
		after := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))
		for id, user := range before {
			program.Expect(t, "the user "+id, after[id], user)
		}
		program.Expect(t, "how many users there were and are", fmt.Sprint(len(before), len(after)), "5 11")
	})
}

// A recipe that cannot do its work ends with an exit code that is not 0, says why, and changes nobody, also in earnest.
func TestARecipeThatFailsSaysSoAndChangesNobody(t *testing.T) {
	t.Parallel()
	type failing struct {
		name, find, replace, says string
		least                     int // so many recipes have it
	}
	cases := []failing{
		{"nobody answers", `http://localhost:3000`, "http://localhost:1", `curl: \(\d+\)`, 14},
		{"the key is not valid", `Bearer \$KEY`, "Bearer a-key-that-was-removed", `401`, 14},
		{"the lines before it were not pasted", `^(?s)api=.*`, "", `ask`, 14},
		{"its file is missing", `printf '[^'%]+'( \|)`, "cat missing.csv$1", `missing\.csv`, 4},
		{"nobody has the email", `email=\w+@example\.org`, "email=nobody@example.org", "nobody has this email", 1},
		{"nobody has the email in the path", `/\w+@example\.org`, "/nobody@example.org", "404", 1},
		{"several users are found", `email=\w+@example\.org`, "q=example.org", "412", 1},
		{"its filter is refused", `email=\w+@example\.org`, "mail=ada@example.org", "400", 1},
		{"more users would be deleted than it allows", `max_deletes=10`, "max_deletes=0", "422", 1},
		{"nobody is in the department", `department=Sales`, "department=Sale", "nobody is in it", 1},
		{"the key wrote nothing", `by=nobody`, "by=key:other", "nobody is to come back|the key did nothing", 2},
	}
	eachShell(t, func(t *testing.T, shell string) {
		cases := cases
		if shell != "dash" { // what the shell itself refuses; what curl refuses is alike in all
			cases = slices.DeleteFunc(slices.Clone(cases), func(c failing) bool { return !strings.Contains(c.says, "nobody") && c.says != "ask" })
		}
		p, directory := program.Serve(t, withFields, "API_KEY="+key), t.TempDir()
		const users = others + "Ada,ada@example.org,,,\nGrace,grace@example.org,,,\n" +
			"Ada,ada@new.example,Sales,,\nBob,bob@old.example,Sales,,\n"
		p.Do(t, "POST", program.CSV, users, "X-API-Key: "+key).Expect(t, 200, "…")
		before := p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key)
		for _, c := range cases {
			find, fit := regexp.MustCompile(c.find), 0
			for _, path := range []string{readme, recipes} {
				begin, found := recipesOf(t, path)
				scripts := []string{find.ReplaceAllString(begin, c.replace)}
				for _, r := range found {
					changed := inEarnest(find.ReplaceAllString(r.script, c.replace))
					if strings.Contains(changed, "ask ") && (changed != inEarnest(r.script) || scripts[0] != begin) {
						scripts = append(scripts, changed)
					}
				}
				if len(scripts) == 1 {
					continue
				}
				for i, got := range paste(t, shell, p, directory, scripts...)[1:] {
					if fit++; got.code == "0" || !regexp.MustCompile(c.says).MatchString(got.stdout+got.stderr) {
						t.Errorf("%s:\n%s\nends with %s and says\n%s%s", c.name, scripts[i+1], got.code, got.stdout, got.stderr)
					}
				}
			}
			if fit < c.least {
				t.Errorf("%s: %d recipes have %s", c.name, fit, c.find)
			}
			program.Expect(t, "the users after "+c.name, p.Do(t, "GET", "/api/users", "", "X-API-Key: "+key).Body, before.Body)
			program.Must(t, os.RemoveAll(filepath.Join(directory, "excel")))
		}
	})
}

// Ids above 2^53 are not rounded, as jq 1.6 does: to the id of somebody else.
func TestARecipeTakesIDsAsTheyAre(t *testing.T) {
	t.Parallel()
	needTools(t, "dash")
	p := program.Serve(t, withFields)
	program.OpenOther(t, p.DatabasePath()).Do(`INSERT INTO users (id, name, email, department) VALUES
		(9007199254740992, 'Somebody', 'somebody@example.com', 'IT'), (9007199254740993, 'Ada', 'ada@old.example', 'Sales'),
		(9007199254740995, 'Grace', 'grace@example.org', 'HR')`)
	tried := 0
	for _, path := range []string{readme, recipes} {
		begin, found := recipesOf(t, path)
		scripts := []string{begin}
		for _, r := range found {
			if regexp.MustCompile(`/grace@|endswith|department=Sales|/restore`).MatchString(r.script) {
				scripts = append(scripts, inEarnest(r.script))
			}
		}
		for i, got := range paste(t, "dash", p, t.TempDir(), scripts...) {
			if tried++; got.code != "0" {
				t.Errorf("%s\nends with %s and prints %s%s", scripts[i], got.code, got.stdout, got.stderr)
			}
		}
	}
	program.Expect(t, "how many scripts were tried", tried, 7)
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":9007199254740992,"name":"Somebody",…},`+
		`{"id":9007199254740993,"name":"Ada","email":"ada@old.example",…},{"id":9007199254740995,"name":"Grace",…}]`)
}

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

// nginx gives up on a response after 60 s, which must not be what ends each wait.
func TestTheScriptsWaitForLessThanAProxyDoes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../../docs/keep-a-copy.sh", "../../docs/webhook.sh"} {
		program.Expect(t, "what "+path+" waits for", regexp.MustCompile(` wait=\d+ `).FindString(program.ReadFile(t, path)), " wait=50 ")
	}
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
