package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A document that names a test says that something is proven.
func TestEveryTestThatADocumentNamesExists(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "../*/*_test.go", "../models/*/*_test.go"} {
		for _, path := range glob(t, pattern) {
			tests.WriteString(read(t, path))
		}
	}
	for _, path := range append(glob(t, "../docs/*.md"), "../README.md", "../CONTRIBUTING.md") {
		for _, name := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(read(t, path), -1) {
			if !strings.Contains(tests.String(), "func "+name+"(") {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
