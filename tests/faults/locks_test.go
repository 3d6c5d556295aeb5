package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"users-api/tests/program"
)

// locked is a directory with a database that another program keeps locked, readers included.
func locked(t *testing.T) (directory string) {
	t.Helper()
	directory = t.TempDir()
	program.OpenOther(t, filepath.Join(directory, "users.db")).Do("CREATE TABLE audit (what)", "BEGIN EXCLUSIVE")
	return directory
}

func TestAStartOnALockedDatabaseGivesUpAfterAbout5s(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Locks)
	began := time.Now()
	program.ExpectRefusal(t, program.Launch(t, program.Path(), "DATA_DIR="+locked(t)), "users.db", "locked", "5s")
	if took := time.Since(began); took < 4*time.Second || took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestASignalEndsAStartThatWaitsForALock(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Locks)
	p := program.Launch(t, program.Path(), "DATA_DIR="+locked(t))
	program.WaitFor(t, "the program has opened the database", func() bool {
		names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
		return slices.ContainsFunc(names, func(name string) bool {
			target, err := os.Readlink(name)
			return err == nil && target == p.DatabasePath()
		})
	})
	p.Signal(syscall.SIGTERM)
	p.ExpectEnd(t, 0, "stopping") // and not 1, as after the 5 s
	program.Forbid(t, p.Log(), "goroutine", "listening", "locked")
}

// The wait for another program's lock is what is left of the stop, and not the usual 5 s after the body has come.
func TestAStopTakesAtMost8sEvenWithALockAndALateBody(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	body := program.Body("Alan", "alan@example.org")
	conn := p.BeginRequest(t, "POST /api/users", body)
	program.OpenOther(t, p.DatabasePath()).HoldWrites()

	began := time.Now()
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	late := time.AfterFunc(5500*time.Millisecond, func() { conn.Send("%s", body) })
	defer late.Stop()
	p.ExpectEnd(t, 0)
	if took := time.Since(began); took > 10*time.Second { // then a container engine kills
		t.Errorf("it took %s", took)
	}
	program.Forbid(t, p.Log(), "goroutine")
}

func TestAnotherProgramsLockHoldsUpEachWriteFor5sAndNoList(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()

	var wait sync.WaitGroup
	for i := range 400 { // they arrive one by one, and each waits its own 5 s
		wait.Go(func() {
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			began := time.Now()
			answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprint(i)))
			took := time.Since(began)
			if err != nil || answer.Status != 500 || !strings.Contains(answer.Body, program.WritesHeld) {
				t.Errorf("answered %d %s, %v", answer.Status, answer.Body, err)
			}
			tooSoon := took < 4*time.Second && !program.PostgreSQL // where what shares a statement waits as long as its oldest
			if tooSoon || took > 15*time.Second {                  // if each waited 50 ms for the one before it, they would wait 25 s
				t.Errorf("it waited %s", took)
			}
		})
	}
	began := time.Now()
	for range 100 {
		p.Do(t, "GET", "/health", "")
		p.ExpectUsers(t, "Ada")
		if took := time.Since(began); took > 60*time.Second { // if each waited for the lock, they would take 500 s
			t.Fatalf("/health and lists took %s", took)
		}
		time.Sleep(20 * time.Millisecond)
	}
	wait.Wait()
	other.LetGo()
	p.Create(t, "Alan", "alan@example.org")
	p.ExpectUsers(t, "Ada", "Alan")
}

func TestAStopFinishesWhatIsUnderWayAndWaitsForNobodyElse(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, request := range []string{"", "GET /api/us"} {
		p.Dial(t).Send("%s", request)
	}
	p.BeginRequest(t, "POST /api/users", "{}") // whose body never comes
	body := program.Body("Ada", "ada@example.org")
	conn := p.BeginRequest(t, "POST /api/users", body)
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	conn.Send("%s", body)
	conn.Answer().Expect(t, 201, "…")
	p.ExpectEnd(t, 0, "some clients were cut off") // it did not wait until the body was given up
	if count := program.OpenOther(t, p.DatabasePath()).Ask("SELECT count(*) FROM users"); count != "1" {
		t.Errorf("%s users were stored", count)
	}
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.BeginRequest(t, "POST /api/users", "{}") // a stop would wait for this request, and end with exit code 0
	p.Signal(syscall.SIGTERM)
	p.WaitForLog(t, "stopping")
	again := time.NewTicker(50 * time.Millisecond) // signals of the first second count as the first one
	defer again.Stop()
	go func() {
		for range again.C {
			p.Signal(syscall.SIGTERM)
		}
	}()
	const killed = -1
	p.ExpectEnd(t, killed)
}
