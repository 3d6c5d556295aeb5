// Package tests proves the built program from outside: a process of its own, real HTTP, a real database file, real
// signals. Each file is about one promise, and the names of its tests are the sentences of that promise. This file
// builds the program and has what several files share.
package tests

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// binary is the built program.
var binary string

// long asks for the tests that take minutes, with a soak of this length: go test ./tests -long 15m
var long = flag.Duration("long", 0, "run the long form of the fault tests, and a soak of this length")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(build(m))
}

func build(m *testing.M) int {
	directory, err := os.MkdirTemp("", "users-api")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)                      //nolint:errcheck // the system cleans up as well
	if err := os.Chmod(directory, 0o755); err != nil { // for the tests that run the program as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary, err = program.Build(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	fmt.Print(program.End())
	return code
}

// start starts the program and stops it when the test ends.
func start(t testing.TB, settings ...string) *program.Program {
	t.Helper()
	return program.Start(t, binary, settings...)
}

// serveFile starts the program on a database that another program made with these statements.
func serveFile(t testing.TB, statements ...string) (*program.Program, *program.Other) {
	t.Helper()
	directory := t.TempDir()
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do(statements...)
	return start(t, "DATA_DIR="+directory), other
}

// waitFor waits for a condition that no event announces.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(program.Patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// forbid fails the test when a text contains something that nobody may see.
func forbid(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in: %.500s", secret, text)
		}
	}
}

// expectRefusal waits until the program ends with exit code 1 and one line that says everything it must.
func expectRefusal(t *testing.T, p *program.Program, says ...string) {
	t.Helper()
	if code := p.WaitForRefusal(t); code != 1 {
		t.Errorf("the exit code is %d", code)
	}
	if lines := strings.Count(p.Log(), "\n"); lines != 1 {
		t.Errorf("the log has %d lines", lines)
	}
	for _, text := range says {
		if !strings.Contains(p.Log(), text) {
			t.Errorf("%q is not in: %s", text, p.Log())
		}
	}
	forbid(t, p.Log(), "goroutine", "panic", "out of memory")
}

// expectIntact fails the test unless the database is whole.
func expectIntact(t *testing.T, p *program.Program) {
	t.Helper()
	if result := program.OpenOther(t, p.DatabasePath()).Intact(); result != "ok" {
		t.Errorf("the integrity check says %s", result)
	}
}

// count returns how many of the answers have a status.
func count(answers []program.Answer, status int) (n int) {
	for _, answer := range answers {
		if answer.Status == status {
			n++
		}
	}
	return n
}

// errorBody is the body of an error with this text.
func errorBody(text string) string { return `{"error":` + strconv.Quote(text) + `}` }

var timeShape = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)

func isTime(text string) bool { return timeShape.MatchString(text) }

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// needsRoot skips a test that mounts or changes owners where that is not allowed.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk or to become another user")
	}
}

// needsLong skips a test that takes minutes, unless -long asks for it.
func needsLong(t *testing.T) {
	t.Helper()
	if *long == 0 {
		t.Skip("takes minutes: go test ./tests -timeout 60m -long 15m")
	}
}
