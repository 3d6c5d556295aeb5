package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Outcome is what a command of the program did.
type Outcome struct {
	Code           int
	Stdout, Stderr string
}

// RunCommand runs the program with arguments until it ends.
func RunCommand(t testing.TB, dataDir string, stdin io.Reader, arguments ...string) Outcome {
	t.Helper()
	return RunWith(t, []string{"DATA_DIR=" + dataDir}, stdin, arguments...)
}

// Run runs a command on the database of the program.
func (p *Program) Run(t testing.TB, arguments ...string) Outcome {
	t.Helper()
	return runAt(t, p.command.Path, append(EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir), nil, arguments...)
}

// RunWith is [RunCommand] with other settings and an input.
func RunWith(t testing.TB, settings []string, stdin io.Reader, arguments ...string) Outcome {
	t.Helper()
	return runAt(t, Path(), settings, stdin, arguments...)
}

func runAt(t testing.TB, path string, settings []string, stdin io.Reader, arguments ...string) Outcome {
	t.Helper()
	command := exec.Command(path, arguments...)
	command.Env = append([]string{"GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}, settings...)
	command.Dir = t.TempDir()
	command.Stdin = stdin
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); command.ProcessState == nil {
		t.Fatal(err)
	}
	return Outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// MustSucceed ends the test unless a command ended well.
func (o Outcome) MustSucceed(t testing.TB) {
	t.Helper()
	if o.Code != 0 {
		t.Fatalf("it ended with %d, and said %q and %q", o.Code, o.Stdout, o.Stderr)
	}
}

// ExpectMistake fails the test unless a command ended with exit code 1 and one line that says everything it must.
func (o Outcome) ExpectMistake(t testing.TB, says ...string) {
	t.Helper()
	if o.Code != 1 || o.Stdout != "" || strings.Count(o.Stderr, "\n") != 1 || !strings.HasPrefix(o.Stderr, "users-api: ") {
		t.Errorf("it ended with %d, and said %q and %q", o.Code, o.Stdout, o.Stderr)
	}
	expectTexts(t, o.Stderr, says)
	Forbid(t, o.Stderr, "goroutine", "panic", "Usage")
}

// ExpectFailure fails the test unless a command said what it was going to do, and failed as [Outcome.ExpectMistake] says.
func (o Outcome) ExpectFailure(t testing.TB, will string, says ...string) {
	t.Helper()
	announced, rest, _ := strings.Cut(o.Stderr, "\n")
	Expect(t, "what it said first", announced, will)
	Outcome{o.Code, o.Stdout, rest}.ExpectMistake(t, says...)
}

// Done is what a backup or a restore that went well says.
var Done = regexp.MustCompile(`^(?:backing up|restoring) \S.* to (?:/\S+|the standard output)\n(backed up|restored): (\d+ users?), (\d+) bytes, \d+\.\d seconds` +
	`(; the old database is (\S+))?\n$`)

// BackUp makes a backup and returns its path.
func BackUp(t testing.TB, dataDir string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "backup.db")
	made := RunCommand(t, dataDir, nil, "backup", target)
	match := Done.FindStringSubmatch(made.Stderr)
	if made.Code != 0 || made.Stdout != "" || match == nil {
		t.Fatalf("the backup ended with %d, %q and %q", made.Code, made.Stdout, made.Stderr)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 || fmt.Sprint(info.Size()) != match[3] {
		t.Fatalf("%s: %v, %v", made.Stderr, info, err)
	}
	return target
}
