package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// done is the last line of a backup or a restore that went well.
var done = regexp.MustCompile(`^(backed up|restored): (\d+) users, (\d+) bytes, \d+\.\d seconds` +
	`(; the old database is (\S+))?\n$`)

// mustBackUp makes a backup and returns its path.
func mustBackUp(t testing.TB, dataDir string) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "backup.db")
	made := runCommand(t, dataDir, nil, "backup", target)
	match := done.FindStringSubmatch(made.stderr)
	if made.code != 0 || made.stdout != "" || match == nil {
		t.Fatalf("the backup ended with %d, %q and %q", made.code, made.stdout, made.stderr)
	}
	info, err := os.Stat(target)
	if err != nil || info.Mode().Perm() != 0o600 || fmt.Sprint(info.Size()) != match[3] {
		t.Fatalf("%s: %v, %v", made.stderr, info, err)
	}
	return target
}

// serveCopy serves a copy of a database file and returns its users.
func serveCopy(t testing.TB, path string) (*program.Program, []program.User) {
	t.Helper()
	directory := t.TempDir()
	text, err := os.ReadFile(path)
	if err := errors.Join(err, os.WriteFile(filepath.Join(directory, "users.db"), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	p := start(t, "DATA_DIR="+directory)
	return p, p.List(t)
}

// expectSound fails unless SQLite finds nothing wrong with a database.
func expectSound(t testing.TB, path string) {
	t.Helper()
	other := program.OpenOther(t, path)
	defer other.Close()
	if result := other.Ask("PRAGMA integrity_check"); result != "ok" {
		t.Errorf("%s: %s", path, result)
	}
}

// waitForFile returns once there is a file in a directory.
func waitForFile(t testing.TB, directory string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if names, err := os.ReadDir(directory); err == nil && len(names) > 0 {
			return
		}
	}
	t.Fatalf("nothing appears in %s", directory)
}

// namesIn returns what is in a directory.
func namesIn(t testing.TB, directory string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestABackupUnderWritersHoldsEveryUserThatWasAnsweredBeforeItBegan(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	l := newLedger()
	stop := l.startWriters(p, 32, "client")
	for range 3 {
		before := l.snapshot()
		target := mustBackUp(t, p.DataDir)
		expectSound(t, target)
		_, users := serveCopy(t, target)
		if err := l.check(users, before); err != nil {
			t.Errorf("the backup of %d users: %v", len(users), err)
		}
	}
	stop()
	if l.size() == 0 {
		t.Error("nobody wrote")
	}
	l.expectKept(t, p)
}

func TestABackupIsTheDatabaseWhetherTheServiceRunsOrNot(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Fill(500)
	want := p.Do(t, "GET", "/api/users", "").Body
	running := mustBackUp(t, p.DataDir)
	p.Kill(t) // its -wal file has all of it
	killed := mustBackUp(t, p.DataDir)
	start(t, "DATA_DIR="+p.DataDir).Stop(t)
	stopped := mustBackUp(t, p.DataDir)
	for _, path := range []string{running, killed, stopped} {
		copied, _ := serveCopy(t, path)
		if got := copied.Do(t, "GET", "/api/users", "").Body; got != want {
			t.Errorf("a backup lists %.200s, and not %.200s", got, want)
		}
	}
}

func TestABackupToTheStandardOutputIsTheBackupAndNothingElse(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	before := namesIn(t, p.DataDir)
	made := runCommand(t, p.DataDir, nil, "backup", "-")
	match := done.FindStringSubmatch(made.stderr)
	if made.code != 0 || match == nil || match[3] != fmt.Sprint(len(made.stdout)) {
		t.Fatalf("it ended with %d, %d bytes and %q", made.code, len(made.stdout), made.stderr)
	}
	if after := namesIn(t, p.DataDir); !slices.Equal(before, after) {
		t.Errorf("beside the database are %v", after)
	}
	target := filepath.Join(t.TempDir(), "backup.db")
	writeFile(t, target, made.stdout)
	if _, users := serveCopy(t, target); len(users) != 1 || users[0].Email != "ada@example.org" {
		t.Errorf("it holds %v", users)
	}
}

// Once the first byte is there, the file that it came from goes with the process.
func TestABackupToTheStandardOutputThatIsKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20000) // more than a pipe takes
	before := namesIn(t, p.DataDir)
	command := exec.Command(binary, "backup", "-")
	command.Env = []string{"DATA_DIR=" + p.DataDir}
	stdout, err := command.StdoutPipe()
	if err := errors.Join(err, command.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = command.Process.Kill()
	_ = command.Wait()
	if after := namesIn(t, p.DataDir); !slices.Equal(before, after) {
		t.Errorf("beside the database are %v", after)
	}
}

func TestABackupThatIsInterruptedLeavesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Fill(300000)
	directory := t.TempDir()
	command := exec.Command(binary, "backup", filepath.Join(directory, "backup.db"))
	command.Env = []string{"DATA_DIR=" + p.DataDir}
	var stderr strings.Builder
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	waitForFile(t, directory)
	_ = command.Process.Signal(syscall.SIGINT)
	_ = command.Wait()
	code, said := command.ProcessState.ExitCode(), stderr.String()
	if code != 1 || said != "users-api: stopped by a signal, before it was done\n" {
		t.Errorf("it ended with %d and %q", code, said)
	}
	if names := namesIn(t, directory); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
}

func TestABackupNeverReplacesAFile(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := start(t)
	target := filepath.Join(t.TempDir(), "backup.db")
	writeFile(t, target, "mine")
	runCommand(t, p.DataDir, nil, "backup", target).expectMistake(t, target, "exists already")
	if text, err := os.ReadFile(target); string(text) != "mine" {
		t.Errorf("it is %q, %v", text, err)
	}
}

func TestABackupWithoutADatabaseSaysWhatToSet(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	directory := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"-", "backup.db"} {
		runCommand(t, directory, nil, "backup", target).expectMistake(t, "there is no database "+directory, "DATA_DIR")
	}
	if names := namesIn(t, directory); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
}

// smallDisk mounts a disk of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	needsRoot(t)
	directory := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "size="+size, "tmpfs", directory)
	return directory
}

func TestADiskThatIsFullDuringABackupHarmsNothing(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	small := smallDisk(t, "1m")
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20000)
	failed := runCommand(t, p.DataDir, nil, "backup", filepath.Join(small, "backup.db"))
	failed.expectMistake(t, "no room", small, "database or disk is full (13)")
	if names := namesIn(t, small); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
	scheduled := start(t, "BACKUP_EVERY=1m", "BACKUP_DIR="+small, "DATA_DIR="+p.DataDir)
	scheduled.WaitForLog(t, "no backup was made")
	scheduled.WaitForLog(t, "database or disk is full (13)")
	scheduled.Create(t, "Ada", "ada@example.org")
	if names := namesIn(t, small); len(names) != 0 {
		t.Errorf("it left %v", names)
	}
	scheduled.Stop(t)
}
