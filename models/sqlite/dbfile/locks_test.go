package dbfile

import (
	"strings"
	"testing"

	"users-api/models/sqlite/sqlitetest"
)

// A database is taken for a restore alone when no other program can have it, in any journal mode.
func TestADatabaseThatAnotherProgramWritesIsNotTakenAlone(t *testing.T) {
	for name, mode := range map[string]string{"with a rollback journal": "DELETE", "in WAL mode": "WAL"} {
		t.Run(name, func(t *testing.T) {
			path := sqlitetest.Closed(t, "old")
			other := sqlitetest.Open(t, path)
			sqlitetest.Run(t, other, "PRAGMA journal_mode = "+mode, "BEGIN IMMEDIATE")
			if release, err := LockExclusive(path); err == nil {
				release()
				t.Error("it is taken")
			} else if !strings.Contains(err.Error(), "has the database "+path+" open: stop the service") {
				t.Errorf("the error is %v", err)
			}
			sqlitetest.Run(t, other, "COMMIT")
		})
	}
}

// A service may start after a restore has left WAL mode, and before it has the lock.
func TestADatabaseOnWhichAServiceStartsIsNotTakenAlone(t *testing.T) {
	path := sqlitetest.Closed(t, "old")
	restoring, err := Open(path, ReadWrite, "busy_timeout(0)", "journal_mode(DELETE)")
	if err != nil {
		t.Fatal(err)
	}
	defer restoring.Close()
	service := sqlitetest.Open(t, path)
	sqlitetest.Run(t, service, "SELECT count(*) FROM users")
	if err := restoring.keepOthersOut(path); err == nil || !strings.Contains(err.Error(), "open: stop the service") {
		t.Errorf("the error is %v", err)
	}
	sqlitetest.Run(t, service, "SELECT count(*) FROM users") // nothing keeps it out
}
