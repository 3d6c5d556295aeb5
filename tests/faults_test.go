package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// A ledger is what clients were told: users that were answered 201, and not 204 since.
type ledger struct {
	mu    sync.Mutex
	users map[int64]string // id and email
	gone  map[int64]bool   // answered 204
	maybe map[int64]bool   // a deletion was sent, and its answer never came
}

func newLedger() *ledger {
	return &ledger{users: map[int64]string{}, gone: map[int64]bool{}, maybe: map[int64]bool{}}
}

// write creates and now and then deletes users until the program no longer answers, or stop is closed.
func (l *ledger) write(p *program.Program, client string, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		email := fmt.Sprintf("%s-%d", client, i)
		answer, err := p.Send("POST", "/api/users", program.Body("n", email))
		if err != nil {
			return
		}
		if answer.Status != 201 {
			continue
		}
		var id int64
		if _, err := fmt.Sscanf(answer.Body, `{"id":%d`, &id); err != nil {
			return
		}
		l.note(func() { l.users[id] = email })
		if i%5 == 0 && !l.delete(p, id) {
			return
		}
	}
}

func (l *ledger) delete(p *program.Program, id int64) bool {
	l.note(func() { l.maybe[id] = true })
	answer, err := p.Send("DELETE", fmt.Sprintf("/api/users/%d", id), "")
	if err != nil {
		return false
	}
	if answer.Status == 204 {
		l.note(func() { l.gone[id] = true })
	}
	return true
}

func (l *ledger) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what()
}

// expectKept compares a list with what clients were told.
func (l *ledger) expectKept(t *testing.T, p *program.Program) {
	t.Helper()
	listed := map[int64]string{}
	for _, user := range p.List(t) {
		listed[user.ID] = user.Email
	}
	for id, email := range l.users {
		switch {
		case l.gone[id] && listed[id] != "":
			t.Errorf("%d was answered 204 and is back", id)
		case !l.maybe[id] && listed[id] != email:
			t.Errorf("%d was answered 201 for %s and is %q", id, email, listed[id])
		}
	}
}

// startWriters lets n clients write until the returned function is called, which waits for them.
func (l *ledger) startWriters(p *program.Program, n int, prefix string) (stop func()) {
	var wait sync.WaitGroup
	stopped := make(chan struct{})
	for i := range n {
		wait.Go(func() { l.write(p, fmt.Sprintf("%s-%d", prefix, i), stopped) })
	}
	return func() { close(stopped); wait.Wait() }
}

// waitFor waits until a condition holds that no event tells of.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func (l *ledger) size() (n int) {
	l.note(func() { n = len(l.users) })
	return n
}

func TestAKillAtAnyMomentLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	rounds := 3
	if *long > 0 {
		rounds = 20
	}
	directory := filepath.Join(t.TempDir(), "data")
	l := newLedger()
	for round := range rounds {
		p := start(t, "DATA_DIR="+directory)
		l.expectKept(t, p)
		before := l.size()
		stop := l.startWriters(p, 24, fmt.Sprint(round))
		waitFor(t, "users are created", func() bool { return l.size() > before+50*(round%5+1) })
		p.Kill(t)
		stop()
		if result := program.OpenOther(t, p.DatabasePath()).Ask("PRAGMA integrity_check"); result != "ok" {
			t.Errorf("round %d: %s", round, result)
		}
	}
	l.expectKept(t, start(t, "DATA_DIR="+directory))
	t.Logf("%d rounds, %d users answered 201, %d answered 204", rounds, len(l.users), len(l.gone))
}

func TestAStopUnderLoadLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	p := start(t)
	l := newLedger()
	stop := l.startWriters(p, 32, "w")
	waitFor(t, "users are created", func() bool { return l.size() > 300 })
	took := p.Stop(t)
	stop()
	if took > 8*time.Second {
		t.Errorf("it took %s to stop", took)
	}
	l.expectKept(t, start(t, "DATA_DIR="+p.DataDir))
	t.Logf("stopped in %s, %d users answered 201", took.Round(time.Millisecond), len(l.users))
}

func TestAnotherProgramsLockHoldsUpWritesForBusyTimeoutAndNothingElse(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("BEGIN IMMEDIATE")

	var wait sync.WaitGroup
	for i := range 20 { // more of them arrive while the first wait, and each waits its own time
		wait.Go(func() {
			time.Sleep(time.Duration(i) * 200 * time.Millisecond)
			began := time.Now()
			answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprint(i)))
			took := time.Since(began)
			if err != nil || answer.Status != 500 || !strings.Contains(answer.Body, "database is locked (5)") {
				t.Errorf("answered %d %s, %v", answer.Status, answer.Body, err)
			}
			if took < 4*time.Second || took > 6*time.Second {
				t.Errorf("it waited %s", took)
			}
		})
	}
	var slowest time.Duration
	for range 100 {
		began := time.Now()
		p.Do(t, "GET", "/health", "")
		if len(p.List(t)) != 1 {
			t.Error("the list has changed")
		}
		slowest = max(slowest, time.Since(began))
		time.Sleep(20 * time.Millisecond)
	}
	wait.Wait()
	if slowest > 2*time.Second {
		t.Errorf("a list waited %s", slowest)
	}
	other.Do("COMMIT")
	p.Create(t, "Alan", "alan@example.org")
	if users := p.List(t); len(users) != 2 {
		t.Errorf("the list is %v", users)
	}
	t.Logf("/health and a list took at most %s meanwhile", slowest.Round(time.Millisecond))
}

// What happens to the files of a running program. Each leaves the name leading elsewhere.
var removals = map[string]func(p *program.Program) error{
	"the database file is removed": func(p *program.Program) error { return os.Remove(p.DatabasePath()) },
	"the -wal file is removed":     func(p *program.Program) error { return os.Remove(p.DatabasePath() + "-wal") },
	"the directory is removed":     func(p *program.Program) error { return os.RemoveAll(p.DataDir) },
	"the directory is moved":       func(p *program.Program) error { return os.Rename(p.DataDir, p.DataDir+"2") },
	"the database file is replaced": func(p *program.Program) error {
		text, err := os.ReadFile(p.DatabasePath())
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.DatabasePath()+".new", text, 0o600); err != nil {
			return err
		}
		return os.Rename(p.DatabasePath()+".new", p.DatabasePath())
	},
}

func TestNoWriteIsAnsweredThatARestartWouldNotFind(t *testing.T) {
	t.Parallel()
	for name, remove := range removals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada@example.org")
			if err := remove(p); err != nil {
				t.Fatal(err)
			}
			answer, err := p.Send("POST", "/api/users", program.Body("n", "lost@example.org"))
			if err == nil && (answer.Status != 500 || !strings.Contains(answer.Body, "removed or replaced")) {
				t.Errorf("a write was answered %d %s", answer.Status, answer.Body)
			}
			if code := p.Wait(t); code != 1 || !strings.Contains(p.Log(), "removed or replaced") {
				t.Errorf("it ended with exit code %d:\n%s", code, p.Log())
			}
		})
	}
}

func TestARemovedDatabaseIsNoticedWithoutAWrite(t *testing.T) {
	t.Parallel()
	p := start(t)
	if err := os.Remove(p.DatabasePath()); err != nil {
		t.Fatal(err)
	}
	if code := p.Wait(t); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestAReplacedDatabaseIsServedAfterTheRestart(t *testing.T) {
	t.Parallel()
	backup := start(t)
	backup.Create(t, "Backup", "backup@example.org")
	backup.Stop(t)
	p := start(t)
	for i := range 20 {
		p.Create(t, "n", fmt.Sprint(i))
	}
	if err := os.Rename(backup.DatabasePath(), p.DatabasePath()); err != nil {
		t.Fatal(err)
	}
	p.Wait(t)
	again := start(t, "DATA_DIR="+p.DataDir)
	if users := again.List(t); len(users) != 1 || users[0].Name != "Backup" {
		t.Errorf("the list is %v", users)
	}
	if result := program.OpenOther(t, p.DatabasePath()).Ask("PRAGMA integrity_check"); result != "ok" {
		t.Errorf("integrity: %s", result)
	}
}

// needsRoot skips a test that mounts or changes owners where that is not allowed.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk or to become another user")
	}
}

func TestAFullDiskRefusesCreationsAndNothingElse(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	directory := t.TempDir()
	if output, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", directory).CombinedOutput(); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v %s", err, output)
	}
	t.Cleanup(func() { _ = syscall.Unmount(directory, syscall.MNT_DETACH) })
	p := start(t, "DATA_DIR="+directory)
	p.Create(t, "Ada", "ada@example.org")
	ballast := filepath.Join(directory, "ballast")
	fillDisk(t, ballast)

	var created, refused atomic.Int64
	l := newLedger()
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for n := range 20 {
				email := fmt.Sprintf("%d-%d", i, n)
				answer, err := p.Send("POST", "/api/users", program.Body(strings.Repeat("n", 2000), email))
				switch {
				case err != nil:
					t.Error(err)
				case answer.Status == 201:
					created.Add(1)
					id := answer.User(t).ID
					l.note(func() { l.users[id] = email })
				case answer.Status == 500 && strings.Contains(answer.Body, "database or disk is full (13)"):
					refused.Add(1)
				default:
					t.Errorf("answered %d %s", answer.Status, answer.Body)
				}
			}
		})
	}
	wait.Wait()
	if refused.Load() == 0 {
		t.Error("the disk was never full")
	}
	if users := p.List(t); len(users) != int(created.Load())+1 {
		t.Errorf("%d users are listed and %d were created", len(users), created.Load()+1)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.Create(t, "Alan", "alan@example.org")
	p.Stop(t)
	again := start(t, "DATA_DIR="+directory)
	l.expectKept(t, again)
	again.Stop(t)
	t.Logf("%d creations refused, %d stored", refused.Load(), created.Load())
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it could not be written anyway
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
}

func TestADirectoryThatCannotBeWrittenIsNamedWithItsOwnerAndWhatHelps(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	for name, prepare := range map[string]func(directory string) error{
		"a read-only directory":            func(directory string) error { return os.Chmod(directory, 0o555) },
		"a directory of another user":      func(string) error { return nil },
		"a database file of another user":  func(d string) error { return foreignFile(d, 0o644) },
		"a database file nobody may write": func(d string) error { return foreignFile(d, 0o444) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory, err := os.MkdirTemp("", "users-api")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(directory) })
			if err := os.Chmod(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := prepare(directory); err != nil {
				t.Fatal(err)
			}
			p := program.LaunchAs(t, 65534, binary, "DATA_DIR="+directory)
			expectRefusal(t, p, directory, "uid 0", "uid 65534", "chown -R 65534", "permission denied")
		})
	}
}

// foreignFile puts a database file of root into a directory that everybody may write.
func foreignFile(directory string, mode os.FileMode) error {
	if err := os.Chmod(directory, 0o777); err != nil {
		return err
	}
	path := filepath.Join(directory, "users.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // an empty file is an empty database
		return err
	}
	return os.Chmod(path, mode)
}

func TestCorruptPagesAreAClear500(t *testing.T) {
	t.Parallel()
	p := start(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(2000)
	other.Close()
	p.Stop(t)
	file, err := os.OpenFile(p.DatabasePath(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(make([]byte, 40*4096), 4*4096); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, "DATA_DIR="+p.DataDir)
	answer := again.Do(t, "GET", "/api/users", "")
	if answer.Status != 500 || answer.Body != `{"error":"database disk image is malformed (11)"}` {
		t.Errorf("the list is answered %d %.200s", answer.Status, answer.Body)
	}
	again.Do(t, "GET", "/health", "")
}

// limited is the program with so many file descriptors.
func limited(t *testing.T, descriptors int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limited")
	writeFile(t, path, fmt.Sprintf("#!/bin/sh\nulimit -n %d\nexec %s\n", descriptors, binary))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAStartWithoutFileDescriptorsSaysSo(t *testing.T) {
	t.Parallel()
	for _, descriptors := range []int{9, 14} {
		expectRefusal(t, program.Launch(t, limited(t, descriptors)), "users.db", "ulimit -n")
	}
}

func TestAProgramWithoutFileDescriptorsGoesOnAndRecovers(t *testing.T) {
	t.Parallel()
	p := program.Start(t, limited(t, 40))
	p.Create(t, "Ada", "ada@example.org") // on a connection that is kept
	for range 60 {
		p.Dial(t)
	}
	p.WaitForLog(t, "too many open files")
	p.Create(t, "Alan", "alan@example.org")
	if users := p.List(t); len(users) != 2 {
		t.Errorf("the list is %v", users)
	}
	forbid(t, p.Log(), "goroutine", "out of memory")
}
