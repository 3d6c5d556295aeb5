package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

var (
	goFile       = regexp.MustCompile(`[\w./*-]*\w\.go\b`)
	testName     = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	hasProse     = regexp.MustCompile(`\.(md|tmpl|go|js|ts|ya?ml|sh|env|mod)$|^\.ci/|Makefile$|Dockerfile$`)
	comment      = regexp.MustCompile(`(?m)(^\s*\*|//|#).*$`) // in a line of code
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// Each file of Go code and each test that a document or a comment names exists: a reader who looks for it must find it.
func TestEveryNameInADocumentOrACommentExists(t *testing.T) {
	t.Parallel()
	files, tests := repository(t)
	for path := range files {
		if !hasProse.MatchString(path) {
			continue
		}
		prose := program.ReadFile(t, filepath.Join("../..", path))
		if extension := filepath.Ext(path); extension != ".md" && extension != ".tmpl" {
			prose = strings.Join(comment.FindAllString(prose, -1), "\n")
		}
		for _, name := range goFile.FindAllString(prose, -1) {
			if !isFile(files, path, name) {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		for _, name := range testName.FindAllString(prose, -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

// repository returns the paths of all files of the project from its root, and the names of all tests.
func repository(t *testing.T) (files, tests map[string]bool) {
	t.Helper()
	files, tests = map[string]bool{}, map[string]bool{}
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "bench/build", "data", "dist", "tmp"}, name) || entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		files[name] = true
		if strings.HasSuffix(name, "_test.go") {
			for _, function := range testFunction.FindAllStringSubmatch(program.ReadFile(t, path), -1) {
				tests[function[1]] = true
			}
		}
		return nil
	})
	if err != nil || len(files) < 100 || len(tests) < 100 {
		t.Fatalf("the repository has %d files and %d tests: %v", len(files), len(tests), err)
	}
	return files, tests
}

// isFile reports whether a name that a file has leads to a file: from the directory of that file, or from anywhere. One
// with a * leads to every file of such a name.
func isFile(files map[string]bool, path, name string) bool {
	name = strings.TrimPrefix(name, "./")
	for file := range files {
		matches, _ := filepath.Match(filepath.Base(name), filepath.Base(file))
		if strings.HasSuffix("/"+file, "/"+name) || matches && strings.Contains(name, "*") {
			return true
		}
	}
	return files[filepath.Join(filepath.Dir(path), name)]
}
