package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A readmeBlock is a script that README.md shows, and the answer that it shows below.
var readmeBlock = regexp.MustCompile("(?s)```sh\n(.*?)```\n```answer\n(.*?)```")

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// README.md is run from top to bottom against one program, in a directory with people.csv.
func TestWhatTheREADMEShowsIsTrue(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Readme)
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the README's scripts need %s, which is not here", tool)
		}
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := readmeBlock.FindAllStringSubmatch(string(text), -1)
	if shown := strings.Count(string(text), "```sh\n"); len(blocks) != shown || shown < 6 {
		t.Fatalf("%d of %d scripts have an answer below them", len(blocks), shown)
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	p := start(t, "DATA_DIR="+filepath.Join(directory, "data"))
	for _, block := range blocks {
		script := exec.Command("sh", "-c", strings.ReplaceAll(block[1], "http://localhost:3000", p.URL))
		script.Dir = directory
		output, err := script.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
		shown := strings.ReplaceAll(string(output), "\r\n", "\n") // a terminal shows no CR, and lines of CSV end with one
		got, want := anyTime.ReplaceAllString(shown, "TIME"), anyTime.ReplaceAllString(block[2], "TIME")
		if got != want {
			t.Errorf("%s\nprints\n%s\nand README.md shows\n%s", block[1], got, want)
		}
	}
}

// README.md's table has every setting that the program or the compose file reads, and no other.
func TestTheREADMEShowsEverySetting(t *testing.T) {
	t.Parallel()
	readme := read(t, "../README.md")
	sources := read(t, "../docker-compose.yml")
	for _, path := range glob(t, "../config/*.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source := read(t, path)
		sources += source
		for _, name := range regexp.MustCompile(`"([A-Z][A-Z_]+)"`).FindAllStringSubmatch(source, -1) {
			if !strings.Contains(readme, "\n| `"+name[1]+"` |") {
				t.Errorf("%s is not in README.md", name[1])
			}
		}
	}
	for _, row := range regexp.MustCompile("\n\\| `([A-Z][A-Z_]+)` \\|").FindAllStringSubmatch(readme, -1) {
		if name := row[1]; !strings.Contains(sources, `"`+name+`"`) && !strings.Contains(sources, "${"+name+":-") {
			t.Errorf("README.md has %s, which nothing reads", name)
		}
	}
}
