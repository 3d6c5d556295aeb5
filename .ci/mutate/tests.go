package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A binary has the tests of a package, on one database.
type binary struct {
	name, tags, path, folder string
	takes                    time.Duration
	skipped                  string // the tests that fail without a mutant
	reached                  []string
}

// compile compiles all tests, those of storage and of the built program for each database.
func compile(tree, work string) (binaries []*binary) {
	for tags, packages := range map[string]string{
		"":         "./config ./controllers ./scim ./routes ./database/... ./models/... ./commands ./tests/...",
		"postgres": "./database ./commands ./tests/...",
	} {
		list := []string{"list", "-tags", tags, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}"}
		for _, folder := range strings.Fields(execute(tree, "go", append(list, strings.Fields(packages)...)...)) {
			name := strings.TrimSuffix(strings.TrimPrefix(folder, tree+"/")+"-"+tags, "-")
			path := filepath.Join(work, strings.ReplaceAll(name, "/", "-"))
			binaries = append(binaries, &binary{name: name, tags: tags, path: path, folder: folder})
		}
	}
	twoAtOnce(binaries, func(b *binary) {
		fmt.Println("compiling the tests of", b.name)
		execute(b.folder, "go", "test", "-c", "-ldflags=-s -w", "-tags=nomsgpack,"+b.tags, "-o", b.path+".test", ".")
	})
	return binaries
}

// record runs every test without a mutant, and notes which places they reach. What it finds is kept.
func (b *binary) record() {
	ran, reached := b.path+".ran", b.path+".reached"
	if _, err := os.Stat(ran); err != nil {
		must(os.WriteFile(reached, nil, 0o666))
		must(os.Chmod(reached, 0o666)) // some tests run the program as another user
		b.takes = 10 * time.Minute
		start := time.Now()
		output, passes := b.run(reached, "")
		b.takes = time.Since(start)
		failed := failedTests(output)
		if !passes && len(failed) == 0 {
			log.Fatalf("the tests of %s fail without a mutant:\n%s", b.name, output)
		}
		failed = slices.DeleteFunc(failed, func(test string) bool { return b.passes("0", test) || b.passes("0", test) })
		facts := fmt.Sprintln(b.takes, strings.Join(failed, "|"))
		fmt.Print(b.name, " took ", facts)
		must(os.WriteFile(ran, []byte(facts), 0o644))
	}
	facts, err := os.ReadFile(ran)
	must(err)
	takes, skipped, _ := strings.Cut(strings.TrimSpace(string(facts)), " ")
	b.takes, err = time.ParseDuration(takes)
	must(err)
	if skipped != "" {
		b.skipped = "^(" + skipped + ")$"
	}
	numbers, err := os.ReadFile(reached)
	must(err)
	b.reached = strings.Fields(string(numbers))
	slices.Sort(b.reached)
	b.reached = slices.Compact(b.reached)
}

// passes runs a test alone.
func (b *binary) passes(mutant, test string) bool {
	_, passes := b.run(mutant, "^"+test+"$")
	return passes
}

// run runs the tests that match a pattern.
func (b *binary) run(mutant, pattern string) (output string, passes bool) {
	folder, err := os.MkdirTemp("", "m") // a short name: that of a socket in it may have 107 bytes
	must(err)
	defer os.RemoveAll(folder)
	must(os.Chmod(folder, 0o777))
	must(os.WriteFile(filepath.Join(folder, "MUTANT"), []byte(mutant), 0o644))
	limit := time.Minute + 4*b.takes
	patience, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	command := exec.CommandContext(patience, b.path+".test", "-test.paniconexit0", "-test.timeout="+limit.String(),
		"-test.run="+pattern, "-test.skip="+b.skipped, fmt.Sprint("-test.failfast=", mutant != b.path+".reached"))
	command.Dir, command.Env = b.folder, append(os.Environ(), "TMPDIR="+folder, "MUTANT="+mutant)
	var text bytes.Buffer
	command.Stdout, command.Stderr, command.WaitDelay = &text, &text, 10*time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = command.Run()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it has left behind
	return text.String(), err == nil
}

const timedOut = "panic: test timed out after "

var failures = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^` + timedOut + `.*\n\s*running tests:\n\s*(\w+)`)

func failedTests(output string) (names []string) {
	for _, match := range failures.FindAllStringSubmatch(output, -1) {
		names = append(names, cmp.Or(match[1], match[2]))
	}
	return names
}

// try runs the tests that reach a mutant, the shortest first, until one fails.
func try(binaries []*binary, p *place) string {
	reach := 0
	for _, b := range binaries {
		if _, reached := slices.BinarySearch(b.reached, strconv.Itoa(p.number)); reached {
			if test := b.notices(strconv.Itoa(p.number)); test != "" {
				return "killed by " + b.name + " " + test
			}
			reach++
		}
	}
	return fmt.Sprintf("lives, reached by %d", reach)
}

// notices returns the test that fails. Alone, it must fail with the mutant and pass without: a busy machine makes
// others fail.
func (b *binary) notices(mutant string) string {
	for range 3 {
		output, passes := b.run(mutant, "")
		if passes {
			return ""
		}
		test := ".*"
		if failed := failedTests(output); len(failed) > 0 {
			test = failed[0]
		}
		late := strings.Contains(output, timedOut) // it is not waited for again
		if (late || !b.passes(mutant, test)) && b.passes("0", test) {
			return test
		}
	}
	return ""
}
