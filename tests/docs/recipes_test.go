package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A recipe is a script that a document shows, and below it what the script prints.
type recipe struct{ script, prints string }

var shownRecipe = regexp.MustCompile("(?s)```sh\n(.*?)```\n```answer\n(.*?)```")

// recipesOf returns the recipes of a document, and fails the test when a script has no answer below it.
func recipesOf(t *testing.T, path string, least int) (recipes []recipe) {
	t.Helper()
	text := program.ReadFile(t, path)
	for _, match := range shownRecipe.FindAllStringSubmatch(text, -1) {
		recipes = append(recipes, recipe{match[1], match[2]})
	}
	if shown := strings.Count(text, "```sh\n"); len(recipes) != shown || shown < least {
		t.Fatalf("%d of %d scripts in %s have an answer below them", len(recipes), shown, path)
	}
	return recipes
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

// shell returns a command that runs a script of a document in a directory, and stops when a step fails, as the document
// tells people to. localhost:3000 is the program, and `users-api` is its commands.
func shell(p *program.Program, directory, script string) *exec.Cmd {
	command := exec.Command("sh", "-ec", strings.ReplaceAll(script, "http://localhost:3000", p.URL))
	path := filepath.Dir(program.Path()) + ":" + os.Getenv("PATH")
	command.Dir, command.Env = directory, append(os.Environ(), "PATH="+path, "DATA_DIR="+p.DataDir)
	return command
}

// paste types a script of a document into a shell, as people do: then nothing but the script itself stops at a step that fails.
// The program's commands are there, and its data directory is not.
func paste(p *program.Program, directory, script string) {
	pasted := shell(p, directory, "")
	pasted.Args, pasted.Stdin = []string{"sh", "-i"}, strings.NewReader(strings.ReplaceAll(script, "http://localhost:3000", p.URL))
	pasted.Env = append(pasted.Env, "DATA_DIR=data")
	_ = pasted.Run()
}

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// expectRecipe runs a recipe in a directory, and compares what it prints.
func expectRecipe(t *testing.T, p *program.Program, directory, begin string, r recipe) {
	t.Helper()
	var stderr strings.Builder
	script := strings.ReplaceAll(begin+r.script, "',Zoe,zoe@new.example,", "',Zoe,zoe@new.example,"+program.OwnCells()) // a row of all columns
	command := shell(p, directory, script)
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, r.script, stderr.String())
	}
	printed := strings.ReplaceAll(program.WithoutOwn(string(stdout)), "\r\n", "\n") // a terminal shows no CR
	if got, want := anyTime.ReplaceAllString(printed, "TIME"), anyTime.ReplaceAllString(r.prints, "TIME"); got != want {
		t.Errorf("%s\nprints\n%s\nand the document shows\n%s\n%s", r.script, got, want, stderr.String())
	}
}

// README.md and docs/recipes.md are run from top to bottom, each recipe of the latter after the lines that it says each begins with.
// A recipe must neither stumble over the names in the repository's root nor leave anything behind.
func TestEachRecipeDoesWhatItSays(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Readme)
	needTools(t, "sqlite3")
	const path = "../../docs/recipes.md"
	begin := regexp.MustCompile("(?s)```shell\n(api=.*?)```").FindStringSubmatch(program.ReadFile(t, path))
	if begin == nil {
		t.Fatalf("%s does not say how each recipe begins", path)
	}
	directory := t.TempDir()
	const names = `for name in *; do if [ -d "$name" ]; then mkdir "$0/$name"; else cp "$name" "$0"; fi; done`
	root := exec.Command("sh", "-ec", names, directory)
	root.Dir = "../.."
	program.Must(t, root.Run())
	contents := func() string {
		text, _ := exec.Command("sh", "-c", `cd "$0" && ls -R && cksum *`, directory).Output()
		return string(text)
	}
	before := contents()
	p := program.Serve(t)
	for _, r := range recipesOf(t, "../../README.md", 5) {
		expectRecipe(t, p, directory, "", r)
	}
	p = program.ServeFeed(t, "USER_FIELDS=department,room")
	for _, r := range recipesOf(t, path, 8) {
		expectRecipe(t, p, directory, begin[1], r)
	}
	if after := contents(); after != before {
		t.Errorf("the directory has\n%s\nand had\n%s", after, before)
	}
}

// README.md's last recipe deletes nobody where the email is not found exactly once, or the service does not answer.
func TestTheREADMEsRecipeDeletesOnlyTheUserWithTheEmail(t *testing.T) {
	t.Parallel()
	needTools(t)
	recipes := recipesOf(t, "../../README.md", 5)
	script := recipes[len(recipes)-1].script
	if !strings.Contains(script, "-X DELETE") || !strings.Contains(script, "grace@example.org") {
		t.Fatalf("README.md's last recipe deletes nobody:\n%s", script)
	}
	p := program.Serve(t)
	p.Create(t, "Somebody", "ada@example.org")
	p.Create(t, "Somebody", "alan@example.org")
	before := p.Do(t, "GET", "/api/users", "").Body
	directory := t.TempDir()
	program.WriteFile(t, filepath.Join(directory, "found.json"), before)
	for name, change := range map[string][2]string{
		"no user has the email": {"", ""},
		"a filter that is none": {"email=grace@example.org", "q=example.org"},
		"a refused request":     {"email=grace@example.org", "mail=grace@example.org"},
		"nobody answers":        {"http://localhost:3000", "http://localhost:1"},
	} {
		changed := strings.Replace(script, change[0], change[1], 1)
		if output, err := shell(p, directory, changed).CombinedOutput(); err == nil {
			t.Errorf("%s: it goes on to the end: %s", name, output)
		}
		paste(p, directory, changed)
		if after := p.Do(t, "GET", "/api/users", "").Body; after != before {
			t.Fatalf("%s: %s became %s", name, before, after)
		}
	}
}

// Where the backup fails, nobody is deleted; where the user does not come back, the backup stays.
func TestTheRecipeWithABackupDeletesNobodyWithoutOne(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Files)
	needTools(t, "sqlite3")
	recipes := recipesOf(t, "../../docs/recipes.md", 8)
	at := slices.IndexFunc(recipes, func(r recipe) bool { return strings.Contains(r.script, "users-api backup monday.db") })
	if at < 0 || !strings.Contains(recipes[at].script, "-X DELETE") {
		t.Fatal("docs/recipes.md has no recipe that makes a backup and deletes a user")
	}
	const api = "api=http://localhost:3000/api/users\n"
	p := program.ServeFeed(t, "USER_FIELDS=department,room")
	p.Do(t, "POST", program.CSV, "name,email\nSomebody,ada\nSomebody,bob\nSomebody,grace\n").Expect(t, 200, "…")
	before, directory := p.Do(t, "GET", "/api/users", "").Body, t.TempDir()
	paste(p, directory, api+recipes[at].script)
	if after := p.Do(t, "GET", "/api/users", "").Body; after != before {
		t.Errorf("without a backup %s became %s", before, after)
	}
	script := strings.ReplaceAll(recipes[at].script, "users-api backup", "DATA_DIR="+p.DataDir+" users-api backup")
	paste(p, directory, api+script) // the backup has nobody with the email
	if _, err := os.Stat(filepath.Join(directory, "monday.db")); err != nil {
		t.Error(err)
	}
	p.Do(t, "GET", "/api/users/3", "").Expect(t, 404, "…")
}
