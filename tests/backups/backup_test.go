package backups

import (
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
	for _, path := range []string{running, killed, program.BackUp(t, p.DataDir)} {
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
	copied, _ := program.ServeCopy(t, target)
	copied.ExpectUsers(t, "Ada")
}

// A signal ends a backup, whether a command makes it or the service.
func TestABackupThatIsInterruptedLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(100_000)
	p.Stop(t)
	for name, interrupt := range map[string]func(t *testing.T, directory string) (done bool){
		"a command says so": func(t *testing.T, directory string) bool {
			command := exec.Command(program.Path(), "backup", filepath.Join(directory, "backup.db"))
			command.Env = []string{"DATA_DIR=" + p.DataDir}
			var stderr strings.Builder
			command.Stderr = &stderr
			program.Must(t, command.Start())
			waitForFile(t, directory)
			_ = command.Process.Signal(syscall.SIGINT)
			_ = command.Wait()
			code, said := command.ProcessState.ExitCode(), stderr.String()
			if code > 1 || code == 1 && !strings.HasSuffix(said, "\nusers-api: stopped by a signal, before it was done\n") {
				t.Errorf("it ended with %d and %q", code, said)
			}
			return code == 0
		},
		"a service stops": func(t *testing.T, directory string) bool {
			q := program.Serve(t, "DATA_DIR="+p.DataDir, "BACKUP_EVERY=24h", "BACKUP_DIR="+directory)
			waitForFile(t, directory)
			q.Stop(t)
			program.Forbid(t, q.Log(), "no backup was made")
			return strings.Contains(q.Log(), "backup made")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				if directory := t.TempDir(); !interrupt(t, directory) { // otherwise it was done before the signal
					program.ExpectNames(t, directory)
					return
				}
			}
			t.Error("none is interrupted")
		})
	}
}

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

func TestADiskThatIsFullDuringABackupOrARestoreHarmsNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p, small := program.Serve(t), program.SmallDisk(t, "1m")
	program.OpenOther(t, p.DatabasePath()).Fill(20000)
	failed := program.RunCommand(t, p.DataDir, nil, "backup", filepath.Join(small, "backup.db"))
	failed.ExpectFailure(t, "backing up … to …", "no room", small, "database or disk is full (13)")
	program.ExpectNames(t, small)

	q := program.Serve(t, "DATA_DIR="+small)
	q.Create(t, "Ada", "ada@example.org")
	q.Stop(t)
	failed = program.RunCommand(t, small, nil, "restore", program.BackUp(t, p.DataDir))
	failed.ExpectFailure(t, "restoring … to …", "cannot copy", "no space left on device")
	program.ExpectNames(t, small, "users.db")
	program.Serve(t, "DATA_DIR="+small).ExpectUsers(t, "Ada")
}
