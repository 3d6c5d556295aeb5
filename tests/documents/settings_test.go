package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestTheHelpNamesEverySetting(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("../../config/*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	help, _, _ := program.Run(t, nil, "help")
	for _, path := range sources {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`"([A-Z][A-Z_]+)"`).FindAllSubmatch(source, -1) {
			if !strings.Contains(help, "\n  "+string(name[1])+" ") {
				t.Errorf("%s is not in the help", name[1])
			}
		}
	}
}
