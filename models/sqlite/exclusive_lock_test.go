package sqlite

import (
	"strings"
	"testing"

	"users-api/models/storetest"
)

// A database is taken for a restore alone when nobody else can have it, and in whatever journal mode it is.
func TestADatabaseThatAnotherProgramWritesIsNotTakenAlone(t *testing.T) {
	for name, mode := range map[string]string{"with a rollback journal": "DELETE", "in WAL mode": "WAL"} {
		t.Run(name, func(t *testing.T) {
			path := closedDatabase(t, "old")
			other := openOther(t, path)
			run(t, other, "PRAGMA journal_mode = "+mode, "BEGIN IMMEDIATE")
			if release, err := lockExclusive(path); err == nil {
				release()
				t.Error("it is taken")
			} else if !strings.Contains(err.Error(), "has the database "+path+" open: stop the service") {
				t.Errorf("the error is %v", err)
			}
			run(t, other, "COMMIT")
		})
	}
}

// A service may start after a restore has left WAL mode, and before it has the lock.
func TestADatabaseOnWhichAServiceStartsIsNotTakenAlone(t *testing.T) {
	path := closedDatabase(t, "old")
	restoring, err := openConnection(fileSource(path), "busy_timeout(0)", "journal_mode(DELETE)")
	if err != nil {
		t.Fatal(err)
	}
	defer restoring.close()
	users := reopen(t, path)
	if err := restoring.keepOthersOut(path); err == nil || !strings.Contains(err.Error(), "open: stop the service") {
		t.Errorf("the error is %v", err)
	}
	storetest.Text(t, users) // which nothing keeps out
}
