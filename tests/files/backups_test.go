//go:build !postgres

package files

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestABackupIsTheDatabaseWhetherTheServiceRunsOrNot(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(500)
	want := p.Do(t, "GET", "/api/users", "").Body
	running := program.BackUp(t, p.DataDir)
	// What is there is left as it is.
	program.RunCommand(t, p.DataDir, nil, "backup", running).ExpectFailure(t, "backing up …", running, "exists already")
	before := program.NamesIn(t, p.DataDir)
	made := program.RunCommand(t, p.DataDir, nil, "backup", "-") // to the standard output, and nothing else
	match := program.Done.FindStringSubmatch(made.Stderr)
	if made.Code != 0 || match == nil || match[3] != fmt.Sprint(len(made.Stdout)) {
		t.Fatalf("it ended with %d, %d bytes and %q", made.Code, len(made.Stdout), made.Stderr)
	}
	program.ExpectNames(t, p.DataDir, before...)
	written := filepath.Join(t.TempDir(), "backup.db")
	program.WriteFile(t, written, made.Stdout)
	p.Kill(t) // its -wal file has all of it
	killed := program.BackUp(t, p.DataDir)
	program.Serve(t, "DATA_DIR="+p.DataDir).Stop(t)
	for _, path := range []string{running, written, killed, program.BackUp(t, p.DataDir)} {
		copied, _ := program.ServeCopy(t, path)
		copied.Do(t, "GET", "/api/users", "").Expect(t, 200, want)
	}
}

// A signal ends a backup, whether a command makes it or the service.
func TestABackupThatIsInterruptedLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
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

func waitForFile(t testing.TB, directory string) {
	t.Helper()
	program.WaitFor(t, "a file in "+directory, func() bool { return len(program.NamesIn(t, directory)) > 0 })
}

func TestADiskThatIsFullDuringABackupOrARestoreHarmsNothing(t *testing.T) {
	t.Parallel()
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

// beside starts a command that goes on beside the test.
func beside(t *testing.T, dataDir string, stdin io.Reader, arguments ...string) <-chan program.Outcome {
	t.Helper()
	ended := make(chan program.Outcome, 1)
	go func() { ended <- program.RunCommand(t, dataDir, stdin, arguments...) }()
	return ended
}

// The copy waits for a lock, as it does where the database is not in WAL mode.
func TestANameThatIsTakenDuringABackupIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	directory, target := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do(table, "BEGIN EXCLUSIVE")
	ended := beside(t, directory, nil, "backup", target)
	waitForFile(t, filepath.Dir(target))
	program.WriteFile(t, target, "mine")
	other.LetGo()
	outcome := <-ended
	outcome.ExpectFailure(t, "backing up …", target, "exists already")
	program.Expect(t, "the file", program.ReadFile(t, target), "mine")
}

// A backup of the future was made while the clock was wrong.
func TestBackupsAreMadeWhileTheServiceRunsAndOthersFilesAreKept(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	const partial, newest, future = "users-20200101T000000Z.db.123.partial", "users-20200103T000000Z.db", "users-29990101T000000Z.db"
	kept := []string{"my-users-20200101T000000Z.db", newest, "users-20200101T000000.5Z.db", "users-20200101T000000Z.db.1.partial.txt",
		"users-20200101T000000Z.db.bak", "users-20201301T000000Z.db", future, "users-abcdefg3-20200101T000000Z.db", "users.db"}
	for _, name := range append(kept, "users-20200101T000000Z.db", "users-20200102T000000Z.db", partial) {
		program.WriteFile(t, filepath.Join(directory, name), name)
	}
	longAgo := time.Now().Add(-48 * time.Hour)
	program.Must(t, os.Chtimes(filepath.Join(directory, partial), longAgo, longAgo))
	settings := []string{"BACKUP_EVERY=24h", "BACKUP_KEEP=2", "BACKUP_DIR=" + directory, "ADMIN_PORT=0"}
	began, made := time.Now().Unix(), ""
	p := program.Serve(t, settings...)
	p.WaitForLog(t, " backups=24h ")
	program.WaitFor(t, "the figure shows the backup", func() bool {
		at := int64(program.Scrape(t, p)["users_api_last_backup_timestamp_seconds"][""])
		made = "users-" + time.Unix(at, 0).UTC().Format("20060102T150405Z") + ".db"
		return at >= began
	})
	p.Stop(t)
	program.Expect(t, "the log", p.Line(t, "backup made"), "…users=0…")
	program.Forbid(t, p.Log(), "no backup is due")
	want := append(kept, made)
	slices.Sort(want)
	program.ExpectNames(t, directory, want...)
	copied, _ := program.ServeCopy(t, filepath.Join(directory, made))
	copied.ExpectUsers(t)
	p = program.Serve(t, append(settings, "DATA_DIR="+p.DataDir)...)
	p.WaitForLog(t, "no backup is due")
	p.WaitForLog(t, "backups="+directory)
	p.Stop(t)
	program.Forbid(t, p.Log(), "backup made")
}

func TestTheLogSaysWhatIsWrongWithTheDirectoryOfBackups(t *testing.T) {
	t.Parallel()
	none := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_DIR=/proc/none")
	program.Expect(t, "the log", none.Line(t, "no backup was made"), "…/proc/none…")
	none.Create(t, "Ada", "ada@example.org")
}
