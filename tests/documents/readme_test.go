package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"users-api/tests/program"
)

// A readmeBlock is a script that README.md shows, and the answer that it shows below.
var readmeBlock = regexp.MustCompile("(?s)```sh\n(.*?)```\n```answer\n(.*?)```")

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// README.md is run from top to bottom against one program, in a directory with tests/testdata as in a clone, which it
// calls /srv/users-api.
func TestWhatTheREADMEShowsIsTrue(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Readme)
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the README's scripts need %s, which is not here", tool)
		}
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := readmeBlock.FindAllStringSubmatch(string(text), -1)
	if shown := strings.Count(string(text), "```sh\n"); len(blocks) != shown || shown < 6 {
		t.Fatalf("%d of %d scripts have an answer below them", len(blocks), shown)
	}
	directory := t.TempDir()
	if err := os.CopyFS(filepath.Join(directory, "tests", "testdata"), os.DirFS("../testdata")); err != nil {
		t.Fatal(err)
	}
	p := program.Serve(t, "DATA_DIR="+filepath.Join(directory, "data"))
	path := filepath.Dir(program.Path()) + ":" + os.Getenv("PATH")
	for _, block := range blocks {
		script := exec.Command("sh", "-c", strings.ReplaceAll(block[1], "http://localhost:3000", p.URL))
		script.Dir, script.Env = directory, append(os.Environ(), "PATH="+path, "DATA_DIR="+p.DataDir)
		output, err := script.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
		shown := strings.ReplaceAll(program.WithoutAdded(string(output)), "\r\n", "\n") // a terminal shows no CR, and lines of CSV end with one
		shown = strings.ReplaceAll(shown, directory, "/srv/users-api")
		got, want := anyTime.ReplaceAllString(shown, "TIME"), anyTime.ReplaceAllString(block[2], "TIME")
		if got != want {
			t.Errorf("%s\nprints\n%s\nand README.md shows\n%s", block[1], got, want)
		}
	}
}

// The table in docs/settings.md has every setting that the program or the compose file reads, and no other.
func TestTheTableOfSettingsHasEverySetting(t *testing.T) {
	t.Parallel()
	table := read(t, "../../docs/settings.md")
	sources := read(t, "../../docker-compose.yml")
	for _, path := range glob(t, "../../config/*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source := read(t, path)
		sources += source
		for _, name := range regexp.MustCompile(`"([A-Z][A-Z_]+)"`).FindAllStringSubmatch(source, -1) {
			if !strings.Contains(table, "\n| `"+name[1]+"` |") {
				t.Errorf("%s is not in docs/settings.md", name[1])
			}
		}
	}
	for _, row := range regexp.MustCompile("\n\\| `([A-Z][A-Z_]+)` \\|").FindAllStringSubmatch(table, -1) {
		if name := row[1]; !strings.Contains(sources, `"`+name+`"`) && !strings.Contains(sources, "${"+name+":-") {
			t.Errorf("docs/settings.md has %s, which nothing reads", name)
		}
	}
}

// What a person writes into .env reaches the container, or the setting's row in docs/settings.md says what to do with compose.
func TestEverySettingReachesTheContainerOrItsRowSaysHow(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			Extends     string
			Environment []string
		}
	}
	text := read(t, "../../docker-compose.yml")
	if err := yaml.Unmarshal([]byte(text), &compose); err != nil {
		t.Fatal(err)
	}
	passed := func(service string) []string {
		one := compose.Services[service]
		return slices.Concat(one.Environment, compose.Services[one.Extends].Environment)
	}
	rows := regexp.MustCompile("\n\\| `([A-Z][A-Z_]+)` \\|.*").FindAllStringSubmatch(read(t, "../../docs/settings.md"), -1)
	if len(rows) < 15 || len(compose.Services) < 4 {
		t.Fatalf("docs/settings.md has %d settings, and docker-compose.yml %d services", len(rows), len(compose.Services))
	}
	for _, row := range rows {
		for name, says := range map[string]string{row[1]: "with compose[,:]", row[1] + "_FILE": "with compose"} {
			if !strings.Contains(row[0], "`"+name+"`") || strings.Contains(text, "${"+name+":-") ||
				regexp.MustCompile(says).MatchString(row[0]) {
				continue
			}
			for _, service := range []string{"users-api", "users-api-postgres", "dev"} {
				if !slices.Contains(passed(service), name) {
					t.Errorf("docker-compose.yml does not pass %s to %s, and docs/settings.md does not say what to do", name, service)
				}
			}
		}
	}
}

// What a deployment writes beside docker-compose.yml does not stop `git pull`, and is never committed.
func TestGitIgnoresSettingsKeysAndBackups(t *testing.T) {
	t.Parallel()
	patterns := strings.Fields(read(t, "../../.gitignore"))
	for _, name := range []string{".env", "docker-compose.override.yml", "api_key", "database_url", "users-backup.db", "users.dump"} {
		if !slices.ContainsFunc(patterns, func(pattern string) bool {
			matches, _ := filepath.Match(strings.TrimPrefix(pattern, "/"), name)
			return matches
		}) {
			t.Errorf("git would commit %s", name)
		}
	}
}
