package concurrency

import (
	"testing"

	"users-api/tests/program"
)

func TestABackupUnderWritersHoldsEveryUserThatWasAnsweredBeforeItBegan(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	writers := program.StartWriters(32, p)
	for range 3 {
		writers.WaitFor(t, 100)
		before := writers.Stored()
		target := program.BackUp(t, p.DataDir)
		program.ExpectIntact(t, target)
		_, users := program.ServeCopy(t, target)
		writers.Expect(t, users, before)
		if last := users[len(users)-1].ID; last != int64(len(users)) {
			t.Errorf("the backup is not of one moment: of the users up to %d, it has %d", last, len(users))
		}
	}
	writers.StopAndExpect(t, p)
}
