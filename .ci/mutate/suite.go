package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
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

// A suite is the compiled tests.
type suite struct{ binaries []*binary }

// A binary has the tests of a package, on one database.
type binary struct {
	name, path, folder string
	tags               string
	reached            map[int]bool
	takes              time.Duration
	skipped            string // the tests that fail in the copy
}

// compile compiles the tests of every package that has some, of those outside for both databases.
func compile(root, work string) (*suite, error) {
	s := &suite{}
	for _, engine := range []struct{ suffix, tags, packages string }{
		{"", "", "./config ./controllers ./routes ./models/... ./commands ./tests/..."},
		{"-postgres", "postgres", "./models ./commands ./tests/..."},
	} {
		list := append([]string{"list", "-tags=" + engine.tags, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}"},
			strings.Fields(engine.packages)...)
		folders, err := inFolder(root, "go", list...)
		if err != nil {
			return nil, err
		}
		for _, folder := range strings.Fields(folders) {
			name, _ := filepath.Rel(root, folder)
			b := &binary{name: name + engine.suffix, folder: folder, tags: engine.tags}
			b.path = filepath.Join(work, strings.ReplaceAll(b.name, "/", "-"))
			s.binaries = append(s.binaries, b)
		}
	}
	return s, each(s.binaries, func(b *binary) error {
		fmt.Println("compiling the tests of", b.name)
		_, err := inFolder(b.folder, "go", "test", "-c", "-ldflags=-s -w", "-tags="+b.tags, "-o", b.path+".test", ".")
		return err
	})
}

func inFolder(folder, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s in %s: %w\n%s", command, folder, err, output)
	}
	return string(output), err
}

// record runs every test on the program as it is, and notes which places each binary reaches. What it finds is kept.
func (s *suite) record() error {
	err := each(s.binaries, (*binary).record)
	slices.SortFunc(s.binaries, func(a, b *binary) int { return cmp.Compare(a.takes, b.takes) })
	return err
}

func (b *binary) record() error {
	facts, err := os.ReadFile(b.path + ".ran") // how long it took, and what is skipped
	if err != nil {
		if err := os.WriteFile(b.path+".reached", nil, 0o666); err != nil {
			return err
		}
		if err := os.Chmod(b.path+".reached", 0o666); err != nil { // some tests run the program as another user
			return err
		}
		b.takes = 10 * time.Minute
		var failed []string
		for round := range 3 { // a busy machine makes a test fail that fails at no other time
			start := time.Now()
			output, err := b.run(b.path+".reached", "")
			b.takes = time.Since(start)
			if err == nil {
				failed = nil
				break
			}
			found := failedTests(output)
			if round > 0 {
				found = slices.DeleteFunc(found, func(name string) bool { return !slices.Contains(failed, name) })
			}
			if failed = found; len(failed) == 0 && round == 2 {
				return fmt.Errorf("the tests of %s fail:\n%s", b.name, output)
			}
			b.takes = 10 * time.Minute
		}
		facts = fmt.Appendf(nil, "%v %s", b.takes, strings.Join(failed, "|"))
		if err := os.WriteFile(b.path+".ran", facts, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s took %s\n", b.name, facts)
	}
	takes, skipped, _ := strings.Cut(string(facts), " ")
	if b.takes, err = time.ParseDuration(takes); err != nil {
		return err
	}
	if skipped != "" {
		b.skipped = "^(" + skipped + ")$"
	}
	numbers, err := os.ReadFile(b.path + ".reached")
	b.reached = map[int]bool{}
	for _, line := range strings.Fields(string(numbers)) {
		number, _ := strconv.Atoi(line)
		b.reached[number] = true
	}
	return err
}

// run runs the tests, or one of them, with a mutant.
func (b *binary) run(mutant, test string) (string, error) {
	folder, err := os.MkdirTemp("", "m")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the system cleans up as well
	err = errors.Join(os.Chmod(folder, 0o1777), os.WriteFile(filepath.Join(folder, "MUTANT"), []byte(mutant), 0o644))
	if err != nil {
		return "", err
	}
	limit := time.Minute + 4*b.takes
	patience, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	command := exec.CommandContext(patience, b.path+".test", "-test.failfast="+strconv.FormatBool(mutant[0] != '/'), "-test.paniconexit0",
		"-test.timeout="+limit.String(), "-test.skip="+b.skipped, "-test.run="+test)
	command.Dir, command.WaitDelay = b.folder, 10*time.Second
	command.Env = append(os.Environ(), "TMPDIR="+folder, "MUTANT="+mutant)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it has left behind
	}
	return output.String(), err
}

var failures = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^panic: test timed out.*\n\s*running tests:\n\s*(\w+)`)

func failedTests(output string) (names []string) {
	for _, match := range failures.FindAllStringSubmatch(output, -1) {
		names = append(names, cmp.Or(match[1], match[2]))
	}
	return names
}

// try runs the tests that reach a mutant, those that take least time first, until one notices it.
func (s *suite) try(p *place) (string, error) {
	reached := 0
	for _, b := range s.binaries {
		if !b.reached[p.number] {
			continue
		}
		reached++
		if test, killed := b.kills(strconv.Itoa(p.number)); killed {
			return fmt.Sprintf("killed by %s %s", b.name, test), nil
		}
	}
	if reached == 0 {
		return lives + ": nothing reaches it", nil
	}
	return fmt.Sprintf("%s: %d packages reach it", lives, reached), nil
}

// kills says which test notices a mutant. That test alone must pass without the mutant and fail with it: a busy machine makes others
// fail now and then.
func (b *binary) kills(number string) (test string, killed bool) {
	for range 3 {
		output, err := b.run(number, "")
		if err == nil {
			return "", false
		}
		test, only := "all", ""
		if failed := failedTests(output); len(failed) > 0 {
			test, only = failed[0], "^"+failed[0]+"$"
		}
		if strings.Contains(output, "panic: test timed out") {
			test += " (time limit)"
		} else if _, err := b.run(number, only); err == nil {
			continue
		}
		if _, err := b.run("0", only); err == nil {
			return test, true
		}
	}
	return "", false
}
