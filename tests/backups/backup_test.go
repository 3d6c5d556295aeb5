package backups

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// waitForFile returns once there is a file in a directory.
func waitForFile(t testing.TB, directory string) {
	t.Helper()
	for deadline := time.Now().Add(program.Patience); time.Now().Before(deadline); {
		if names, err := os.ReadDir(directory); err == nil && len(names) > 0 {
			return
		}
	}
	t.Fatalf("nothing appears in %s", directory)
}

func TestABackupIsTheDatabaseWhetherTheServiceRunsOrNot(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(500)
	want := p.Do(t, "GET", "/api/users", "").Body
	running := program.BackUp(t, p.DataDir)
	program.RunCommand(t, p.DataDir, nil, "backup", running).ExpectMistake(t, running, "exists already") // and is left as it is
	p.Kill(t)                                                                                            // its -wal file has all of it
	killed := program.BackUp(t, p.DataDir)
	program.Serve(t, "DATA_DIR="+p.DataDir).Stop(t)
	stopped := program.BackUp(t, p.DataDir)
	for _, path := range []string{running, killed, stopped} {
		copied, _ := program.ServeCopy(t, path)
		copied.Do(t, "GET", "/api/users", "").Expect(t, 200, want)
	}
}

func TestABackupToTheStandardOutputIsTheBackupAndNothingElse(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	before := program.NamesIn(t, p.DataDir)
	made := program.RunCommand(t, p.DataDir, nil, "backup", "-")
	match := program.Done.FindStringSubmatch(made.Stderr)
	if made.Code != 0 || match == nil || match[3] != fmt.Sprint(len(made.Stdout)) {
		t.Fatalf("it ended with %d, %d bytes and %q", made.Code, len(made.Stdout), made.Stderr)
	}
	program.ExpectNames(t, p.DataDir, before...)
	target := filepath.Join(t.TempDir(), "backup.db")
	program.WriteFile(t, target, made.Stdout)
	if _, users := program.ServeCopy(t, target); len(users) != 1 || users[0].Email != "ada@example.org" {
		t.Errorf("it holds %v", users)
	}
}

// Once the first byte is there, the file that it came from goes with the process.
func TestABackupToTheStandardOutputThatIsKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20000) // more than a pipe takes
	before := program.NamesIn(t, p.DataDir)
	command := exec.Command(program.Path(), "backup", "-")
	command.Env = []string{"DATA_DIR=" + p.DataDir}
	stdout, err := command.StdoutPipe()
	program.Must(t, errors.Join(err, command.Start()))
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	program.ExpectNames(t, p.DataDir, before...)
}

func TestABackupThatIsInterruptedLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(100_000)
	for range 20 {
		directory := t.TempDir()
		command := exec.Command(program.Path(), "backup", filepath.Join(directory, "backup.db"))
		command.Env = []string{"DATA_DIR=" + p.DataDir}
		var stderr strings.Builder
		command.Stderr = &stderr
		program.Must(t, command.Start())
		waitForFile(t, directory)
		_ = command.Process.Signal(syscall.SIGINT)
		_ = command.Wait()
		code, said := command.ProcessState.ExitCode(), stderr.String()
		if code == 0 {
			continue // it was done before the signal
		}
		if code != 1 || !strings.HasSuffix(said, "\nusers-api: stopped by a signal, before it was done\n") {
			t.Errorf("it ended with %d and %q", code, said)
		}
		program.ExpectNames(t, directory)
		return
	}
	t.Error("none is interrupted")
}

func TestADiskThatIsFullDuringABackupHarmsNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	small := program.SmallDisk(t, "1m")
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20000)
	failed := program.RunCommand(t, p.DataDir, nil, "backup", filepath.Join(small, "backup.db"))
	failed.ExpectFailure(t, "backing up … to …", "no room", small, "database or disk is full (13)")
	program.ExpectNames(t, small)
}
