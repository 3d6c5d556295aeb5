package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

const (
	readme     = "../../README.md"
	recipes    = "../../docs/recipes.md"
	types      = "../../docs/types.md"
	withFields = "USER_FIELDS=department,room,active,updated_at"                  // as docs/recipes.md says
	withTypes  = "USER_FIELDS=active:boolean,joined:date,role:member|board|guest" // as docs/types.md says
	key        = "a-key-with-full-access"
)

// A recipe is a block that a document shows, and below it what it prints. It is refused if that is an error.
type recipe struct {
	script, prints string
	refused        bool
}

var (
	shownRecipe = regexp.MustCompile("(?s)```sh\n(.*?)```\n```answer\n(.*?)```")
	shownBegin  = regexp.MustCompile("(?s)```shell\n((?:api=|send\\(\\)).*?)```")
	shownError  = regexp.MustCompile(`^\{("error"|.*"status":4)`)
	ofTests     = strings.NewReplacer("',Zoe,zoe@new.example,", "',Zoe,zoe@new.example,"+program.OwnCells(), // a row of all columns
		"key:hr-sync", "nobody") // as in these tests, which need no key
)

// recipesOf returns what is to be pasted before the recipes of a document, and them: the lines of README.md, and those of its own.
// The test fails when a block has no answer below it.
func recipesOf(t *testing.T, path string) (begin string, found []recipe) {
	t.Helper()
	text := program.ReadFile(t, path)
	for _, match := range shownRecipe.FindAllStringSubmatch(text, -1) {
		refused := strings.Contains(match[1], "ask ") && shownError.MatchString(match[2])
		found = append(found, recipe{ofTests.Replace(match[1]), match[2], refused})
	}
	lines := shownBegin.FindStringSubmatch(text)
	if lines == nil && path != readme {
		lines = []string{"", ""} // README's are all
	}
	if shown := strings.Count(text, "```sh\n"); lines == nil || len(found) != shown || shown < 4 {
		t.Fatalf("%d of %d scripts in %s have an answer below them, and they begin with %q", len(found), shown, path, lines)
	}
	if path != readme {
		begin, _ = recipesOf(t, readme)
	}
	return begin + lines[1], found
}

// inEarnest is a script after its reader has changed the one word that makes it more than a dry run.
func inEarnest(script string) string {
	return strings.NewReplacer("echo ask ", "ask ", "echo send ", "send ", "dry_run=true", "dry_run=false").Replace(script)
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
// repository's root, nor leave a file behind, but for the directory that it names. docs/types.md begins with a user whose mark is
// older than the type of its field.
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
			first         []string
			leaves        []string
		}{
			{readme, "USER_FIELDS=", nil, []string{"Ada King", "Alan"}},
			{recipes, withFields, nil, []string{"Ada", "Bob", "Eve", "Zoe"}},
			{types, withTypes, []string{"INSERT INTO users (name, email, active, role) VALUES ('Ida', 'ida@club.example', 'x', 'member')"},
				[]string{"Ida", "Mia", "Noah"}},
		} {
			p, directory := program.Serve(t, document.setting), t.TempDir()
			program.OpenOther(t, p.DatabasePath()).Do(document.first...)
			root := exec.Command("sh", "-c", names, directory)
			root.Dir = "../.."
			program.Must(t, root.Run())
			before := contents(directory)
			begin, found := recipesOf(t, document.path)
			steps := []recipe{{script: begin}}
			for _, r := range found {
				steps = append(steps, r)
				if earnest := inEarnest(r.script); earnest != r.script {
					if !strings.Contains(r.script, "dry_run=true") { // an import says the same
						r.prints = ""
					}
					r.script = earnest
					steps = append(steps, r)
				}
			}
			var scripts []string
			for _, step := range steps {
				scripts = append(scripts, step.script)
			}
			for i, got := range paste(t, shell, p, directory, scripts...) {
				step := steps[i]
				isShown := shown(got.stdout) == shown(step.prints)
				if step.refused {
					isShown = got.stdout == "" && strings.Contains(shown(got.stderr), shown(step.prints))
				}
				if step.prints != "" && !isShown || (got.code != "0") != step.refused {
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

// alarmed is a script as somebody runs it who wants to know when it fails: there the shells do not heed `set -e`.
func alarmed(script string) string { return "if ! {\n" + script + "}; then false; fi\n" }

// A recipe that cannot do its work ends with an exit code that is not 0, says why, and changes nobody, also in earnest.
func TestARecipeThatFailsSaysSoAndChangesNobody(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, find, replace, says string
		least                     int // so many recipes have it
	}{
		{"nobody answers", `http://localhost:3000`, "http://localhost:1", `curl: \(\d+\)`, 14},
		{"the key is not valid", `Bearer \$KEY`, "Bearer a-key-that-was-removed", `401`, 14},
		{"the lines before it were not pasted", `^(?s)api=.*`, "", `ask`, 14},
		{"its file is missing", `printf '[^'%]+'( \|)`, "cat missing.csv$1", `missing\.csv`, 4},
		{"nobody has the email in the path", `/\w+@example\.org`, "/nobody@example.org", "User not found", 2},
		{"somebody else has changed the user", `etag=.*`, `etag='"x"'`, "412", 1},
		{"its filter is refused", `department=Sales`, "departement=Sales", `Unknown parameter \\"departement\\"`, 1},
		{"a request of a batch is refused", `"@new\.example"`, `"@example.com"`, `409 /api/users/\d+ it@example.com Email is .*used`, 1},
		{"more users would be deleted than it allows", `max_deletes=10`, "max_deletes=0", "422", 1},
		{"nobody is in the department", `department=Sales`, "department=Sale", "nobody is in it", 1},
		{"the key wrote nothing", `by=nobody`, "by=key:other", "nobody is to come back|nothing is left", 2},
	}
	eachShell(t, func(t *testing.T, shell string) {
		p, directory := program.Serve(t, withFields, "API_KEY="+key), t.TempDir()
		const users = others + "Ada,ada@example.org,,,\nGrace,grace@example.org,,,\n" +
			"Ada,ada@new.example,Sales,,\nIt,it@old.example,Sales,,\n"
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
						scripts = append(scripts, alarmed(changed))
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

// Whoever is not in the file is deactivated, and nobody else: with the mark at the beginning of what Excel saves as UTF-8,
// and with more emails than an argument may hold.
func TestWhoLeftIsWhoIsNotInTheFile(t *testing.T) {
	t.Parallel()
	needTools(t, "dash")
	begin, found := recipesOf(t, recipes)
	at := slices.IndexFunc(found, func(r recipe) bool { return strings.Contains(r.script, `active: "false"`) })
	deactivate := regexp.MustCompile(`printf '[^%']+' \|`).ReplaceAllString(inEarnest(found[at].script), "cat staff.csv |")
	users := program.ManyRows(5_000)
	staff := strings.TrimPrefix(regexp.MustCompile(`(?m)^.*,`).ReplaceAllString(users, ""), "email\n")
	for name, c := range map[string]struct{ file, fields, says, code string }{
		"a file of Excel":  {"\ufeff" + strings.ReplaceAll(staff, "\n", "\r\n"), withFields, `"updated":1,`, "0"},
		"no field active":  {staff, "USER_FIELDS=room", "users have no field active", "1"},
		"a file of others": {"somebody@example.com\n", withFields, "no line of the file is the email of a user", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, directory := program.Serve(t, c.fields), t.TempDir()
			p.Do(t, "POST", program.CSV, users+"Left,left@example.org\n").Expect(t, 200, "…")
			program.WriteFile(t, filepath.Join(directory, "staff.csv"), c.file)
			got := paste(t, "dash", p, directory, begin, alarmed(deactivate))[1]
			program.Expect(t, "how it ends, and what it says", got.code+got.stdout+got.stderr, c.code+"…"+c.says+"…")
			if c.code == "0" {
				p.Do(t, "GET", "/api/users?active=false", "").Expect(t, 200, `[{"id":5001,"name":"Left",…}]`)
			}
		})
	}
}

// Whom the key has deleted comes back, also behind a page of others, and nobody whom somebody else has deleted since.
func TestWhatSomebodyElseHasDoneSinceStays(t *testing.T) {
	t.Parallel()
	needTools(t, "dash")
	const sync, admin = "X-API-Key: the-key-of-hr-sync", "X-API-Key: " + key
	for name, c := range map[string]struct {
		has         string // the recipe
		own, others int    // so many the key has deleted, and others since
	}{
		"bring back": {"is to come back", 600, 600},
		"undo":       {"nothing is left", 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := filepath.Join(t.TempDir(), "keys")
			program.WriteFile(t, keys, "hr-sync the-key-of-hr-sync\nadmin "+key+"\n")
			p := program.Serve(t, withFields, "API_KEY_FILE="+keys)
			const only = "name,email\nAda,ada@example.org\n"
			deleteAll := func(n int, by string) {
				p.Do(t, "POST", program.CSV, program.ManyRows(n)+"Ada,ada@example.org\n", admin).Expect(t, 200, "…")
				p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=600", only, by).Expect(t, 200, "…")
			}
			deleteAll(c.own, sync)
			p.Do(t, "POST", "/api/users/1/restore", "", admin).Expect(t, 201, "…")
			p.Do(t, "DELETE", "/api/users/1", "", admin).Expect(t, 204, "")
			p.Do(t, "DELETE", "/api/users/ada@example.org", "", admin).Expect(t, 204, "")
			deleteAll(c.others, admin)
			if name == "undo" { // reads the feed, which on PostgreSQL other transactions may hold back
				program.WaitFor(t, "the feed has all deletions", func() bool {
					feed := p.Do(t, "GET", "/api/changes", "", admin).Body
					return strings.Count(feed, `"op":"deleted"`) == c.own+c.others+2
				})
			}
			begin, found := recipesOf(t, recipes)
			at := slices.IndexFunc(found, func(r recipe) bool { return strings.Contains(r.script, c.has) })
			script := strings.Replace(inEarnest(found[at].script), "by=nobody", "by=key:hr-sync", 1)
			for i, got := range paste(t, "dash", p, t.TempDir(), begin, script, script)[1:] {
				if (got.code == "0") != (i == 0) || i == 1 && !strings.Contains(got.stderr, c.has) {
					t.Errorf("the script ends with %s, and prints\n%s%s", got.code, got.stdout, got.stderr)
				}
			}
			program.Expect(t, "how many users there are", len(p.Do(t, "GET", "/api/users", "", admin).Users(t)), c.own)
		})
	}
}
