// Package tests proves the built program from outside: a process of its own, real HTTP, a real database file, real
// signals. Each file is about one promise; the names of the tests are the sentences of it.
package tests

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"users-api/tests/program"
)

// binary is the built program.
var binary string

// long asks for the tests that take minutes, with a soak of so long: go test ./tests -long 15m
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
	if err := os.Chmod(directory, 0o755); err != nil { // for the tests that run it as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary, err = program.Build(directory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start starts the program and stops it when the test ends.
func start(t testing.TB, settings ...string) *program.Program {
	t.Helper()
	return program.Start(t, binary, settings...)
}
