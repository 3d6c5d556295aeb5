package sqlite

import (
	"strings"
	"testing"
)

// A database is taken for a restore alone when nobody else can have it, and in whatever journal mode it is.
func TestADatabaseThatAnotherProgramWritesIsNotTakenAlone(t *testing.T) {
	for name, mode := range map[string]string{"with a rollback journal": "DELETE", "in WAL mode": "WAL"} {
		t.Run(name, func(t *testing.T) {
			path := closedDatabase(t, "old")
			other := openOther(t, path)
			run(t, other, "PRAGMA journal_mode = "+mode, "BEGIN IMMEDIATE")
			if release, err := takeAlone(path); err == nil {
				release()
				t.Error("it is taken")
			} else if !strings.Contains(err.Error(), "has the database "+path+" open: stop the service") {
				t.Errorf("the error is %v", err)
			}
			run(t, other, "COMMIT")
		})
	}
}

// An exclusive transaction keeps no reader out of a database in WAL mode.
func TestADatabaseInWALModeIsNotAlone(t *testing.T) {
	users := openUsers(t, 0)
	if err := users.committer.conn.expectRollbackMode("users.db"); err == nil {
		t.Error("it is taken for one with a rollback journal")
	}
}
