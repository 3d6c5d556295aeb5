//go:build strace

// Package strace proves what a test can otherwise see only after a power cut: what is flushed to disk, and in what order.
package strace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

// install builds the program and a script that runs it under strace, and returns the script and where the trace will be.
func install(t *testing.T) (script, trace string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatalf("%v: apt-get install strace", err)
	}
	directory := t.TempDir()
	binary, err := program.Build(directory)
	if err != nil {
		t.Fatal(err)
	}
	script, trace = filepath.Join(directory, "traced"), filepath.Join(directory, "trace")
	const calls = "mkdir,mkdirat,link,linkat,rename,renameat,renameat2,fsync,fdatasync"
	text := fmt.Sprintf("#!/bin/sh\nexec %s -D -f -y -o %s -e trace=%s %s \"$@\"\n", strace, trace, calls, binary)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script, trace
}

// steps returns the system calls of a trace that went well, in order, such as "flush /a/b", "mkdir /a" or "link /a /b".
func steps(t *testing.T, trace string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		call := systemCall.FindStringSubmatch(line)
		if call == nil || strings.Contains(line, " = -1 ") {
			continue
		}
		paths := []string{}
		for _, match := range anyPath.FindAllStringSubmatch(call[2], -1) {
			paths = append(paths, match[1]+match[2])
		}
		name := strings.TrimSuffix(strings.TrimSuffix(call[1], "2"), "at")
		if strings.HasSuffix(call[1], "sync") {
			name = "flush"
		}
		found = append(found, name+" "+strings.Join(paths, " "))
	}
	return found
}

var (
	systemCall = regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	anyPath    = regexp.MustCompile(`"([^"]+)"|\d<([^>]+)>`)
)

// expectOrder fails unless these steps are among those found, in this order.
func expectOrder(t *testing.T, found []string, want ...string) {
	t.Helper()
	from := 0
	for _, step := range want {
		at := slices.IndexFunc(found[from:], func(s string) bool { return regexp.MustCompile("^" + step + "$").MatchString(s) })
		if at < 0 {
			t.Fatalf("%q is not behind the others of %q in:\n%s", step, want, strings.Join(found, "\n"))
		}
		from += at + 1
	}
}

func TestEachDirectoryThatIsMadeIsOnDisk(t *testing.T) {
	script, trace := install(t)
	for name, settings := range map[string][]string{
		"as any user":               nil,
		"as root, for another user": {"RUN_AS=65532"}, // which another user than root ignores
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.Chmod(filepath.Dir(root), 0o755); err != nil { // for the other user
				t.Fatal(err)
			}
			p := program.Start(t, script, append(settings, "DATA_DIR="+root+"/a/b", "BACKUP_EVERY=1h")...)
			p.WaitForLog(t, "backup made")
			p.Kill(t)
			found := steps(t, trace)
			expectOrder(t, found, "mkdir "+root+"/a", "flush "+root)
			expectOrder(t, found, "mkdir "+root+"/a/b", "flush "+root+"/a")
			expectOrder(t, found, "mkdir "+root+"/a/b/backups", "flush "+root+"/a/b")
		})
	}
}

func TestABackupAndARestoreAreOnDiskBeforeTheyHaveTheirNames(t *testing.T) {
	script, trace := install(t)
	root := t.TempDir()
	data, backup := root+"/data", root+"/backup.db"
	run := func(arguments ...string) {
		t.Helper()
		command := exec.Command(script, arguments...)
		command.Env = []string{"DATA_DIR=" + data, "PATH=" + os.Getenv("PATH")}
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", arguments, err, output)
		}
	}
	p := program.Start(t, script, "DATA_DIR="+data)
	p.Create(t, "Ada", "ada@example.org")
	p.Stop(t)

	run("backup", backup)
	partial := backup + `\.\d+\.partial`
	expectOrder(t, steps(t, trace), "flush "+partial, "link "+partial+" "+backup, "flush "+root)

	run("restore", backup)
	database := data + "/users.db"
	candidate, kept := database+`\.\d+\.partial`, database+`\.replaced-\S+`
	expectOrder(t, steps(t, trace), "flush "+candidate, "link "+database+" "+kept, "flush "+data,
		"rename "+candidate+" "+database, "flush "+data)
}
