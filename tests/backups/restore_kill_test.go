package backups

import (
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// A restore that is killed leaves the old or the new database, whole. The old one has its user in the -wal file. Half
// of the restores are killed at a random moment. The others are killed in the middle of the exchange, which takes less
// than 1 ms: once the old database has its second name.
func TestARestoreThatIsKilledLeavesTheOldOrTheNewDatabase(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	source := program.Serve(t)
	program.OpenOther(t, source.DatabasePath()).Fill(10_000)
	backup := program.BackUp(t, source.DataDir)
	left := map[string]int{}
	takes, i := time.Duration(0), 0
	for least := program.Times(5, 21); i < least || left["old"] == 0 && i < 40; i++ {
		p := program.Serve(t)
		p.Create(t, "Old", "old@example.org")
		p.Kill(t)
		removed := watchRemovals(t, p.DataDir)
		restore, began, ended := exec.Command(program.Path(), "restore", backup), time.Now(), make(chan struct{})
		restore.Env = []string{"DATA_DIR=" + p.DataDir}
		program.Must(t, restore.Start())
		go func() { _ = restore.Wait(); close(ended) }()
		switch {
		case i == 0: // it is only watched
			<-ended
			takes = time.Since(began)
			if strings.Contains(removed(), "users.db\x00") {
				t.Error("there was a moment without a database")
			}
		case i%2 == 0:
			moment := rand.N(takes)
			killOnce(restore, ended, func() bool { return time.Since(began) >= moment })
		default:
			killOnce(restore, ended, func() bool {
				kept, _ := filepath.Glob(filepath.Join(p.DataDir, "users.db.replaced-*"))
				return len(kept) > 0
			})
		}
		again := program.Serve(t, "DATA_DIR="+p.DataDir)
		left[whose(t, again)]++
		again.Stop(t)
		other := program.OpenOther(t, p.DatabasePath())
		if result := other.Intact(); result != "ok" {
			t.Errorf("the integrity check says %s", result)
		}
		other.Close() // or the next restore would be refused
		program.RunCommand(t, p.DataDir, nil, "restore", backup).MustSucceed(t)
	}
	t.Logf("what was left: %v", left)
	if left["old"] == 0 || left["new"] == 0 || left["old"]+left["new"] != i {
		t.Errorf("left were %v", left)
	}
}

// killOnce kills a command once it is time, unless it has ended.
func killOnce(command *exec.Cmd, ended chan struct{}, isTime func() bool) {
	for !isTime() {
		select {
		case <-ended:
			return
		default:
		}
	}
	_ = command.Process.Kill()
	<-ended
}

// whose tells which database the program has.
func whose(t *testing.T, p *program.Program) string {
	t.Helper()
	last := p.Do(t, "GET", "/api/users?limit=1&order=desc&count=true", "")
	users, count := last.Users(t), last.Header.Get("X-Total-Count")
	switch {
	case count == "1" && users[0].Email == "old@example.org":
		return "old"
	case count == "10000" && users[0].Email == "user10000@example.org":
		return "new"
	}
	return "a list of " + count
}

// watchRemovals returns a function that returns the names that have led nowhere, if only for a moment, since the call.
func watchRemovals(t testing.TB, directory string) (names func() string) {
	t.Helper()
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	program.Must(t, err)
	t.Cleanup(func() { _ = syscall.Close(watch) })
	if _, err := syscall.InotifyAddWatch(watch, directory, syscall.IN_DELETE|syscall.IN_MOVED_FROM); err != nil {
		t.Fatal(err)
	}
	return func() string {
		events := make([]byte, 1<<16)
		n, err := syscall.Read(watch, events)
		if err != nil {
			t.Fatal(err) // the candidate has lost its name at least
		}
		return string(events[:n])
	}
}
