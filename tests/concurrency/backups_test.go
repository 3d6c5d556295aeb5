package concurrency

import (
	"testing"

	"users-api/tests/ledger"
	"users-api/tests/program"
)

func TestABackupUnderWritersHoldsEveryUserThatWasAnsweredBeforeItBegan(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	l := ledger.New()
	stop := l.StartWriters(p, 32, "client")
	for range 3 {
		before := l.Snapshot()
		target := program.BackUp(t, p.DataDir)
		program.ExpectIntact(t, target)
		_, users := program.ServeCopy(t, target)
		if err := l.Check(users, before); err != nil {
			t.Errorf("the backup of %d users: %v", len(users), err)
		}
	}
	stop()
	if l.Size() == 0 {
		t.Error("no client wrote")
	}
	l.ExpectKept(t, p)
}
