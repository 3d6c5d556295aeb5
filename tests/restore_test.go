package tests

import (
	"fmt"
	"math/rand/v2"
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

func TestARestoreIsRefusedWhileAnyProcessHasTheDatabaseOpen(t *testing.T) {
	t.Parallel()
	source := start(t)
	source.Create(t, "New", "new@example.org")
	backup := mustBackUp(t, source.DataDir)
	refused := func(t *testing.T, dataDir string, pid int) {
		t.Helper()
		before := namesIn(t, dataDir)
		runCommand(t, dataDir, nil, "restore", backup).expectMistake(t,
			fmt.Sprintf("the process %d has the database", pid), dataDir, "open: stop the service")
		if after := namesIn(t, dataDir); !slices.Equal(before, after) {
			t.Errorf("there were %v and are %v", before, after)
		}
	}
	p := start(t)
	t.Run("a service that nobody has asked anything", func(t *testing.T) { refused(t, p.DataDir, p.PID()) })
	p.Create(t, "Old", "old@example.org")
	t.Run("an idle service", func(t *testing.T) { refused(t, p.DataDir, p.PID()) })
	t.Run("a busy service", func(t *testing.T) {
		l := newLedger()
		stop := l.startWriters(p, 8, "client")
		for range 5 {
			refused(t, p.DataDir, p.PID())
		}
		stop()
		l.expectKept(t, p)
	})
	p.Signal(syscall.SIGSTOP)
	t.Run("a service that stands still", func(t *testing.T) { refused(t, p.DataDir, p.PID()) })
	p.Signal(syscall.SIGCONT)
	p.Kill(t)
	if names := namesIn(t, p.DataDir); len(names) != 3 {
		t.Fatalf("the killed service left %v", names)
	}
	t.Run("another program", func(t *testing.T) {
		other := program.OpenOther(t, p.DatabasePath())
		other.Ask("SELECT count(*) FROM users")
		refused(t, p.DataDir, os.Getpid())
		other.Close()
	})
	t.Run("a killed service has nothing open", func(t *testing.T) {
		if again := runCommand(t, p.DataDir, nil, "restore", backup); again.code != 0 {
			t.Fatal(again.stderr)
		}
		if users := start(t, "DATA_DIR="+p.DataDir).List(t); len(users) != 1 || users[0].Name != "New" {
			t.Errorf("the list is %v", users)
		}
	})
}

func TestARestoreFromAFileOrTheStandardInputIsServedAndKeepsTheOldDatabase(t *testing.T) {
	t.Parallel()
	source := start(t)
	source.Create(t, "New", "new@example.org")
	backup := mustBackUp(t, source.DataDir)
	for _, argument := range []string{backup, "-"} {
		t.Run(argument, func(t *testing.T) {
			p := start(t)
			p.Create(t, "Old", "old@example.org")
			p.Kill(t)
			stdin, err := os.Open(backup)
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close() //nolint:errcheck // it was only read
			restored := runCommand(t, p.DataDir, stdin, "restore", argument)
			match := done.FindStringSubmatch(restored.stderr)
			if restored.code != 0 || match == nil || match[2] != "1" {
				t.Fatalf("it ended with %d and %q", restored.code, restored.stderr)
			}
			if users := start(t, "DATA_DIR="+p.DataDir).List(t); len(users) != 1 || users[0].Name != "New" {
				t.Errorf("the list is %v", users)
			}
			if _, users := serveCopy(t, match[5]); len(users) != 1 || users[0].Name != "Old" {
				t.Errorf("the old database has %v", users)
			}
		})
	}
}

func TestACandidateThatCannotBeServedIsRefusedAndNothingIsChanged(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Old", "old@example.org")
	p.Stop(t)
	nobody := filepath.Join(t.TempDir(), "people.db")
	program.OpenOther(t, nobody).Do("CREATE TABLE people (id)")
	people, err := os.ReadFile(nobody)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(p.DatabasePath())
	if err != nil {
		t.Fatal(err)
	}
	for name, candidate := range map[string]struct{ text, says string }{
		"empty": {"", "it is empty"}, "no database": {strings.Repeat("name,email\n", 999), "it is not an SQLite database"},
		"the first half": {string(before[:len(before)/2]), "damaged"}, "no users": {string(people), "it has no table users"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "candidate.db")
			writeFile(t, path, candidate.text)
			runCommand(t, p.DataDir, nil, "restore", path).expectMistake(t, path, "nothing was changed", candidate.says)
			streamed := runCommand(t, p.DataDir, strings.NewReader(candidate.text), "restore", "-")
			streamed.expectMistake(t, "nothing was changed", candidate.says)
			if after, err := os.ReadFile(p.DatabasePath()); string(after) != string(before) {
				t.Errorf("the database was changed, %v", err)
			}
			if names := namesIn(t, p.DataDir); !slices.Equal(names, []string{"users.db"}) {
				t.Errorf("there are %v", names)
			}
		})
	}
	runCommand(t, p.DataDir, nil, "restore", "/nowhere/backup.db").expectMistake(t, "/nowhere/backup.db", "no such file")
}

func TestADiskThatIsFullDuringARestoreHarmsNothing(t *testing.T) {
	t.Parallel()
	p := start(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20000)
	backup := mustBackUp(t, p.DataDir)
	small := start(t, "DATA_DIR="+smallDisk(t, "1m"))
	small.Create(t, "Ada", "ada@example.org")
	small.Stop(t)
	runCommand(t, small.DataDir, nil, "restore", backup).expectMistake(t, "cannot copy", "no space left on device")
	if names := namesIn(t, small.DataDir); !slices.Equal(names, []string{"users.db"}) {
		t.Errorf("there are %v", names)
	}
	if users := start(t, "DATA_DIR="+small.DataDir).List(t); len(users) != 1 {
		t.Errorf("%d users are left", len(users))
	}
}

// A restore that is killed leaves the old or the new database, whole. The old one has its user in the -wal file. Half
// of the restores are killed at a random moment. The others are killed in the middle of the exchange, which takes less
// than 1 ms: once the old database has its second name.
func TestARestoreThatIsKilledAtAnyMomentLeavesTheOldOrTheNewDatabase(t *testing.T) {
	t.Parallel()
	source := start(t)
	program.OpenOther(t, source.DatabasePath()).Fill(30000)
	backup := mustBackUp(t, source.DataDir)
	left := map[string]int{}
	takes := time.Duration(0)
	for i := range 21 {
		p := start(t)
		p.Create(t, "Old", "old@example.org")
		p.Kill(t)
		restore := startRestore(t, p.DataDir, backup)
		switch {
		case i == 0: // it is only watched
			restore.expectDatabaseThroughout(t)
			takes = time.Since(restore.began)
		case i%2 == 0:
			restore.killAfter(time.Duration(rand.Int64N(int64(takes))))
		default:
			restore.killOnceKept()
		}
		again := start(t, "DATA_DIR="+p.DataDir)
		left[whose(again.List(t))]++
		again.Stop(t)
		expectSound(t, p.DatabasePath())
		if next := runCommand(t, p.DataDir, nil, "restore", backup); next.code != 0 {
			t.Errorf("after a restore that was killed the next says %q", next.stderr)
		}
	}
	t.Logf("what was left: %v", left)
	if left["old"] == 0 || left["new"] == 0 || left["old"]+left["new"] != 21 {
		t.Errorf("left were %v", left)
	}
}

// whose tells which database has these users.
func whose(users []program.User) string {
	switch {
	case len(users) == 1 && users[0].Email == "old@example.org":
		return "old"
	case len(users) == 30000 && users[29999].Email == "user30000@example.org":
		return "new"
	}
	return fmt.Sprint("a list of ", len(users))
}

// aRestore is a restore under way.
type aRestore struct {
	dataDir string
	command *exec.Cmd
	began   time.Time
	ended   chan struct{}
}

func startRestore(t testing.TB, dataDir, backup string) *aRestore {
	t.Helper()
	r := &aRestore{dataDir, exec.Command(binary, "restore", backup), time.Now(), make(chan struct{})}
	r.command.Env = []string{"DATA_DIR=" + dataDir}
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.command.Wait(); close(r.ended) }()
	return r
}

// expectDatabaseThroughout fails when there is a moment without a database.
func (r *aRestore) expectDatabaseThroughout(t testing.TB) {
	t.Helper()
	for {
		if _, err := os.Stat(filepath.Join(r.dataDir, "users.db")); err != nil {
			t.Errorf("meanwhile: %v", err)
		}
		select {
		case <-r.ended:
			return
		default:
		}
	}
}

func (r *aRestore) killAfter(moment time.Duration) {
	select {
	case <-r.ended:
	case <-time.After(moment):
		_ = r.command.Process.Kill()
		<-r.ended
	}
}

// killOnceKept kills the restore as soon as the old database has the name under which it is kept.
func (r *aRestore) killOnceKept() {
	for {
		select {
		case <-r.ended:
			return
		default:
		}
		if kept, _ := filepath.Glob(filepath.Join(r.dataDir, "users.db.replaced-*")); len(kept) > 0 {
			_ = r.command.Process.Kill()
			<-r.ended
			return
		}
	}
}
