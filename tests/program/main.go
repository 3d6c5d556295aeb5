package program

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// path is where [Main] has built the program.
var path string

// Path returns where [Main] has built the program.
func Path() string { return path }

// Main builds the program, runs the tests of a package and exits. TestMain calls it.
//
// More tests run at a time than there are processors, because most of them wait for the program, a disk or a time limit.
func Main(m *testing.M) {
	_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	directory, err := os.MkdirTemp("", "users-api")
	if err == nil {
		defer os.RemoveAll(directory)    //nolint:errcheck // the system cleans up as well
		err = os.Chmod(directory, 0o755) // for the tests that run the program as another user
	}
	if err == nil {
		path, err = Build(directory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	end()
	return code
}

// Serve starts the program that [Main] has built.
func Serve(t testing.TB, settings ...string) *Program {
	t.Helper()
	return Start(t, path, settings...)
}

// Again stops the program, and starts it on the same database: it looks at the table once, at its start.
func (p *Program) Again(t testing.TB, settings ...string) *Program {
	t.Helper()
	p.Stop(t)
	return Serve(t, append([]string{"DATA_DIR=" + p.DataDir}, settings...)...)
}

// ServeFile starts the program on a database that another program made with these statements.
func ServeFile(t testing.TB, statements ...string) (*Program, *Other) {
	t.Helper()
	directory := t.TempDir()
	other := OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do(statements...)
	return Serve(t, "DATA_DIR="+directory), other
}

// ServeCopy serves a copy of a database file and returns its users.
func ServeCopy(t testing.TB, path string) (*Program, []User) {
	t.Helper()
	directory := t.TempDir()
	WriteFile(t, filepath.Join(directory, "users.db"), ReadFile(t, path))
	p := Serve(t, "DATA_DIR="+directory)
	return p, p.List(t)
}
