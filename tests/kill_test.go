package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/tests/program"
)

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
		expectIntact(t, p)
	}
	l.expectKept(t, start(t, "DATA_DIR="+directory))
	t.Logf("%d rounds, %d users were created", rounds, l.size())
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
	t.Logf("stopped in %s, %d users were created", took.Round(time.Millisecond), l.size())
}

func TestAnotherProgramsLockHoldsUpEachWriteFor5sAndNoList(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	other := program.OpenOther(t, p.DatabasePath())
	other.HoldWrites()

	var wait sync.WaitGroup
	for i := range 20 { // they arrive one by one, and each waits its own 5 s
		wait.Go(func() {
			time.Sleep(time.Duration(i) * 200 * time.Millisecond)
			began := time.Now()
			answer, err := p.Send("POST", "/api/users", program.Body("n", fmt.Sprint(i)))
			took := time.Since(began)
			if err != nil || answer.Status != 500 || !strings.Contains(answer.Body, writesHeld) {
				t.Errorf("answered %d %s, %v", answer.Status, answer.Body, err)
			}
			tooSoon := took < 4*time.Second && !program.PostgreSQL // where what shares a statement waits as long as its oldest
			if tooSoon || took > 20*time.Second {                  // one after the other they would wait 100 s
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
	if slowest > 4*time.Second {
		t.Errorf("a list waited %s", slowest)
	}
	other.LetGo()
	p.Create(t, "Alan", "alan@example.org")
	if users := p.List(t); len(users) != 2 {
		t.Errorf("the list is %v", users)
	}
	t.Logf("/health and a list took at most %s meanwhile", slowest.Round(time.Millisecond))
}
