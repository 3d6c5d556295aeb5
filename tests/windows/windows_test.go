//go:build wine

// Package windows proves that the program runs on Windows, for which it stands in wine.
package windows

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"users-api/tests/program"
)

// What Debian's packages wine64 and gcc-mingw-w64-x86-64 install.
const (
	wine     = "/usr/lib/wine/wine64"
	server   = "/usr/lib/wine/wineserver64"
	compiler = "/usr/bin/x86_64-w64-mingw32-gcc"
)

// run runs a command and returns what it wrote. It writes into a file, because wine's services would hold a pipe open.
func run(t *testing.T, settings []string, name string, arguments ...string) (string, error) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	program.Must(t, err)
	defer output.Close() //nolint:errcheck // it is read by its name
	command := exec.Command(name, arguments...)
	command.Env = append(os.Environ(), settings...)
	command.Stdout, command.Stderr = output, output
	failure := command.Run()
	text := program.ReadFile(t, output.Name())
	return text, failure
}

func mustRun(t *testing.T, settings []string, name string, arguments ...string) {
	t.Helper()
	if output, err := run(t, settings, name, arguments...); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, arguments, err, output)
	}
}

// install makes a wine, and a script in it that runs the program, and returns wine's settings.
func install(t *testing.T) (script string, settings []string) {
	t.Helper()
	for _, needed := range []string{wine, server, compiler} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: apt-get install wine64 gcc-mingw-w64-x86-64", err)
		}
	}
	directory := t.TempDir()
	// Where wine keeps its registry, and that it writes no messages of its own.
	settings = []string{"WINEPREFIX=" + filepath.Join(directory, "prefix"), "WINEDEBUG=-all"}
	binary := os.Getenv("USERS_API") // of a release
	if binary == "" {
		binary = filepath.Join(directory, "users-api.exe")
		mustRun(t, []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"},
			"go", "build", "-tags", "nomsgpack", "-o", binary, "users-api")
	}
	mustRun(t, settings, wine, "wineboot", "-i")
	t.Cleanup(func() { // it writes into the directory
		stop := exec.Command(server, "-k")
		stop.Env = settings
		_ = stop.Run()
	})
	library := filepath.Join(directory, "prefix", "drive_c", "windows", "system32", "bcryptprimitives.dll")
	mustRun(t, nil, compiler, "-shared", "-o", library, "testdata/bcryptprimitives.c", "-ladvapi32")
	script = filepath.Join(directory, "users-api")
	program.Must(t, os.WriteFile(script, []byte("#!/bin/sh\nexec "+wine+" "+binary+" \"$@\"\n"), 0o755))
	return script, settings
}

func TestTheServiceRunsOnWindows(t *testing.T) {
	script, settings := install(t)
	p := program.Start(t, script, settings...)
	settings = append(settings, "DATA_DIR="+p.DataDir)
	p.Do(t, http.MethodGet, "/health", "").Expect(t, 200, `{"status":"ok"}`)
	p.Create(t, "Ada", "ada@example.org")
	const rows = 20_000 // more than an import or an export holds in memory
	p.Do(t, http.MethodPost, program.CSV, program.ManyRows(rows)).Expect(t, 200, program.Imported(rows, 0, 0, 0))
	exported := p.Do(t, http.MethodGet, program.CSV, "").Body
	program.Expect(t, "how many lines are exported", strings.Count(exported, "\r\n"), rows+2)
	program.WaitFor(t, "the files of the import and of the export are gone", func() bool {
		return slices.Equal(program.NamesIn(t, p.DataDir), []string{"users.db", "users.db-shm", "users.db-wal"})
	})
	want := p.Do(t, http.MethodGet, "/api/users", "").Body

	t.Run("a backup beside the service, and no restore", func(t *testing.T) {
		backup := filepath.Join(p.DataDir, "..", "backup.db")
		mustRun(t, settings, script, "backup", backup)
		refused, err := run(t, settings, script, "restore", backup)
		if err == nil || !strings.Contains(refused, "open: stop the service") {
			t.Errorf("a restore beside the service: %v, %s", err, refused)
		}
	})
	t.Run("after a kill", func(t *testing.T) {
		p.Kill(t)
		again := program.Start(t, script, settings...)
		again.Do(t, http.MethodGet, "/api/users", "").Expect(t, 200, want)
		again.Signal(syscall.SIGINT) // Ctrl+C
		again.ExpectEnd(t, 0)
		program.ExpectNames(t, p.DataDir, "users.db")
	})
	t.Run("after a restore", func(t *testing.T) {
		mustRun(t, settings, script, "restore", filepath.Join(p.DataDir, "..", "backup.db"))
		restored := program.Start(t, script, settings...)
		restored.Do(t, http.MethodGet, "/api/users", "").Expect(t, 200, want)
	})
}
