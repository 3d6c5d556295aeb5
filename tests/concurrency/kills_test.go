package concurrency

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"users-api/tests/ledger"
	"users-api/tests/program"
)

func TestAKillAtAnyMomentLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	rounds := program.Times(3, 20)
	directory := filepath.Join(t.TempDir(), "data")
	l := ledger.New()
	for round := range rounds {
		p := program.Serve(t, "DATA_DIR="+directory)
		l.ExpectKept(t, p)
		before := l.Size()
		stop := l.StartWriters(p, 24, fmt.Sprint(round))
		program.WaitFor(t, "users are created", func() bool { return l.Size() > before+50*(round%5+1) })
		p.Kill(t)
		stop()
		program.ExpectIntact(t, p.DatabasePath())
	}
	l.ExpectKept(t, program.Serve(t, "DATA_DIR="+directory))
	t.Logf("%d rounds, %d users were created", rounds, l.Size())
}

func TestAStopUnderLoadLosesNothingThatWasAnswered(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "ADMIN_PORT=0")
	l := ledger.New()
	stop := l.StartWriters(p, 32, "w")
	program.WaitFor(t, "users are created", func() bool {
		return program.Scrape(t, p)["users_api_commits_total"][""] > 0 && l.Size() > 300 // figures can be read meanwhile
	})
	took := p.Stop(t)
	stop()
	program.Forbid(t, p.Log(), "cut_by=stop") // no request was: net/http waits up to 6 s for a connection that a client keeps in reserve
	l.ExpectKept(t, program.Serve(t, "DATA_DIR="+p.DataDir))
	t.Logf("stopped in %s, %d users were created", took.Round(time.Millisecond), l.Size())
}
