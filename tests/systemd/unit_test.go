//go:build systemd

// Package systemd proves that the unit in packaging/ is valid, hardens the service, and forbids nothing that it does.
package systemd

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

func TestMain(m *testing.M) { program.Main(m) }

const packaging = "../../packaging/"

func analyze(t *testing.T, arguments ...string) (output string, err error) {
	t.Helper()
	command := exec.Command("systemd-analyze", arguments...)
	command.Env = append(os.Environ(), "SYSTEMD_COLORS=0")
	printed, err := command.CombinedOutput()
	return string(printed), err
}

func TestTheUnitIsValid(t *testing.T) {
	unit := program.ReadFile(t, packaging+"users-api.service")
	path := filepath.Join(t.TempDir(), "users-api.service")
	text := strings.Replace(unit, "=/usr/bin/users-api\n", "="+program.Path()+"\n", 1) // it must exist
	program.WriteFile(t, path, text)
	// Mistakes that systemd ignores are printed with exit code 0.
	if output, err := analyze(t, "verify", path); err != nil || output != "" {
		t.Errorf("%v\n%s", err, output)
	}
}

// The scale ends at 100. A service without any hardening has 96.
func TestTheServiceIsExposedToLittle(t *testing.T) {
	output, err := analyze(t, "security", "--offline=true", "--threshold=14", packaging+"users-api.service")
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// setting returns the values of a setting of the service's unit.
func setting(t *testing.T, name string) (values []string) {
	t.Helper()
	unit := program.ReadFile(t, packaging+"users-api.service")
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

// members returns the system calls of a set of systemd's, such as @system-service.
func members(t *testing.T, set string) (calls []string) {
	t.Helper()
	output, err := analyze(t, "syscall-filter", set)
	program.Must(t, err)
	for line := range strings.Lines(output) {
		name, isMember := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !isMember || strings.HasPrefix(name, "#"):
		case strings.HasPrefix(name, "@"):
			calls = append(calls, members(t, name)...)
		default:
			calls = append(calls, name)
		}
	}
	return calls
}

// allowedCalls returns the system calls that SystemCallFilter of the unit allows.
func allowedCalls(t *testing.T) (allowed []string) {
	t.Helper()
	for _, value := range setting(t, "SystemCallFilter") {
		sets, denied := strings.CutPrefix(value, "~")
		calls := []string{}
		for set := range strings.FieldsSeq(sets) {
			calls = append(calls, members(t, set)...)
		}
		if denied {
			allowed = slices.DeleteFunc(allowed, func(call string) bool { return slices.Contains(calls, call) })
		} else {
			allowed = append(allowed, calls...)
		}
	}
	return allowed
}

var (
	systemCall = regexp.MustCompile(`(?m)^\d+ +(\w+)\((.*)`)
	family     = regexp.MustCompile(`AF_\w+`)
	executable = regexp.MustCompile(`^(mmap.*PROT_WRITE\|PROT_EXEC|\w*mprotect.*PROT_EXEC)`)
)

func TestTheServiceNeedsNothingThatItsUnitForbids(t *testing.T) {
	trace := traceOfEverything(t)
	allowed, families := allowedCalls(t), strings.Fields(strings.Join(setting(t, "RestrictAddressFamilies"), " "))
	if len(allowed) < 100 || len(families) == 0 {
		t.Fatalf("the unit allows %d system calls and the families %v", len(allowed), families)
	}
	seen := map[string]bool{}
	for _, call := range systemCall.FindAllStringSubmatch(trace, -1) {
		name, arguments := call[1], call[2]
		seen[name] = true
		if !slices.Contains(allowed, name) {
			t.Errorf("SystemCallFilter= forbids %s(%s", name, arguments)
		}
		if name == "socket" && !slices.Contains(families, family.FindString(arguments)) {
			t.Errorf("RestrictAddressFamilies= forbids %s(%s", name, arguments)
		}
		if executable.MatchString(name + arguments) {
			t.Errorf("MemoryDenyWriteExecute= forbids %s(%s", name, arguments)
		}
	}
	for _, name := range []string{"accept4", "connect", "fsync", "mmap", "socket"} {
		if !seen[name] {
			t.Errorf("the trace has no %s", name)
		}
	}
}

// traceOfEverything returns the system calls of a service that starts, works and stops.
func traceOfEverything(t *testing.T) string {
	t.Helper()
	program.NeedsRoot(t) // to become another user: SQLite does more for root
	const user = 65532
	directory := program.SharedDirectory(t, user)
	script, trace := filepath.Join(directory, "traced"), filepath.Join(directory, "trace")
	text := fmt.Sprintf("#!/bin/sh\nexec strace -D -f -o %s %s\n", trace, program.Path())
	program.Must(t, os.WriteFile(script, []byte(text), 0o755))
	p := program.LaunchAs(t, user, script, "DATA_DIR="+directory+"/data", "BACKUP_EVERY=1h", "ADMIN_PORT=0", "NOTIFY_SOCKET=/n")
	p.WaitForAddress(t)
	p.Create(t, "Ada", "ada@example.org")
	for _, path := range []string{"/", "/api/users", "/api/users?q=da", program.CSV} {
		p.Do(t, "GET", path, "").Expect(t, 200, "…")
	}
	p.Do(t, "POST", program.NDJSON, `{"name":"Bob","email":"bob@example.org"}`+"\n").Expect(t, 200, "…")
	program.Scrape(t, p)
	p.WaitForLog(t, "backup made")
	p.Stop(t)
	return program.ReadFile(t, trace)
}
