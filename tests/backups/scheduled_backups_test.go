package backups

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestBackupsAreMadeWhileTheServiceRunsAndOthersFilesAreKept(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	directory := filepath.Join(t.TempDir(), "backups")
	program.Must(t, os.Mkdir(directory, 0o700))
	const prefix = "users-"
	foreign := []string{prefix + "20200101T000000Z.db.bak", prefix + "20200101T000000Z.db-wal", prefix + "20201301T000000Z.db",
		prefix + "20200101T000000.5Z.db", "my-" + prefix + "20200101T000000Z.db", "users.db", prefix + "2020.db",
		prefix + "20200101T000000Z.db.1.partial.txt", "users-abcdefg3-20200101T000000Z.db", // of an earlier version
		"users-abcdefg3-20200101T000000Z.db.1.partial"}
	own := []string{prefix + "20200101T000000Z.db", prefix + "20200102T000000Z.db", prefix + "20200103T000000Z.db"}
	partial := prefix + "20200101T000000Z.db.123.partial"
	for _, name := range slices.Concat(foreign, own, []string{partial}) {
		program.WriteFile(t, filepath.Join(directory, name), name)
	}
	program.Must(t, os.Mkdir(filepath.Join(directory, prefix+"20190101T000000Z.db"), 0o700))
	longAgo := time.Now().Add(-48 * time.Hour)
	program.Must(t, os.Chtimes(filepath.Join(directory, partial), longAgo, longAgo))
	p := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_KEEP=2", "BACKUP_DIR="+directory)
	p.WaitForLog(t, " backups=24h ")
	p.WaitForLog(t, "backup made")
	p.WaitForLog(t, "users=0")
	p.Stop(t)
	program.Forbid(t, p.Log(), "no backup is due")
	names := program.NamesIn(t, directory)
	made := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name < prefix+"202" || name > prefix+"3" || slices.Contains(foreign, name)
	})
	if len(made) != 2 || made[0] != own[2] {
		t.Errorf("of the service's backups there are %v", made)
	}
	want := append(slices.Clone(foreign), prefix+"20190101T000000Z.db")
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("%s was deleted", name)
		}
	}
	if len(names) != len(want)+len(made) {
		t.Errorf("there are %v", names)
	}
	_, users := program.ServeCopy(t, filepath.Join(directory, made[1]))
	if len(users) != 0 {
		t.Errorf("the backup holds %v", users)
	}
	again := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_KEEP=2", "BACKUP_DIR="+directory, "DATA_DIR="+p.DataDir)
	again.WaitForLog(t, "no backup is due")
	again.WaitForLog(t, "backups="+directory)
	again.Stop(t)
	program.Forbid(t, again.Log(), "backup made")
}

func TestTheNextBackupIsMadeWhenTheNewestIsOlderThanAskedFor(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	const name = "users-20060102T150405Z.db"
	directory, recent := t.TempDir(), time.Now().Add(-58*time.Second).UTC().Truncate(time.Second)
	program.WriteFile(t, filepath.Join(directory, recent.Format(name)), "")
	program.WriteFile(t, filepath.Join(directory, "users-29991231T000000Z.db"), "of a wrong clock")
	program.Serve(t, "BACKUP_EVERY=1m", "BACKUP_DIR="+directory).WaitForLog(t, "backup made")
	names := program.NamesIn(t, directory)
	made, err := time.Parse(name, names[min(1, len(names)-1)])
	if len(names) != 3 || err != nil || made.Sub(recent) < time.Minute { // it was not made at the start
		t.Errorf("there are %v, %v", names, err)
	}
}

func TestAWrongClockDeletesNoBackup(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	directory := t.TempDir()
	future := []string{"users-29990101T000000Z.db", "users-29990102T000000Z.db"}
	for _, name := range future {
		program.WriteFile(t, filepath.Join(directory, name), "made while the clock was wrong")
	}
	began := time.Now()
	p := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_KEEP=1", "BACKUP_DIR="+directory, "ADMIN_PORT=0")
	var last int64
	program.WaitFor(t, "the figure shows the backup", func() bool {
		last = int64(program.Scrape(t, p)["users_api_last_backup_timestamp_seconds"][""])
		return last >= began.Unix()
	})
	p.Stop(t)
	made := "users-" + time.Unix(last, 0).UTC().Format("20060102T150405Z") + ".db"
	if names := program.NamesIn(t, directory); len(names) != 3 || names[0] != made || names[1] != future[0] || names[2] != future[1] {
		t.Errorf("there are %v, and the last backup is said to be %s", names, made)
	}
}

func TestBackupsOnTheDatabasesDiskAreWarnedOf(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t, "BACKUP_EVERY=24h")
	p.WaitForLog(t, "the backups are on the same disk as the database")
	p.WaitForLog(t, filepath.Join(p.DataDir, "backups"))
	p.WaitForLog(t, "backup made")
	q := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_DIR="+program.SmallDisk(t, "4m"))
	q.WaitForLog(t, "backup made")
	program.Forbid(t, q.Log(), "same disk")
}

func TestABackupThatCannotBeMadeIsALineOfTheLogAndNotTheEnd(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_DIR=/proc/none")
	p.WaitForLog(t, "no backup was made")
	p.WaitForLog(t, "/proc/none")
	p.Create(t, "Ada", "ada@example.org")
	p.Stop(t)
	if n := strings.Count(p.Log(), "no backup was made"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}

func TestAStopDoesNotWaitForABackup(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(100_000)
	p.Stop(t)
	for range 20 {
		directory := t.TempDir()
		q := program.Serve(t, "DATA_DIR="+p.DataDir, "BACKUP_EVERY=24h", "BACKUP_DIR="+directory)
		waitForFile(t, directory)
		q.Stop(t)
		if strings.Contains(q.Log(), "backup made") {
			continue // before the stop
		}
		program.Forbid(t, q.Log(), "no backup was made")
		program.ExpectNames(t, directory)
		return
	}
	t.Error("each stop waits for the backup")
}

func TestAServiceThatLosesItsDatabaseEndsAlthoughItMakesBackups(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t, "BACKUP_EVERY=24h")
	p.WaitForLog(t, "backup made")
	program.Must(t, os.Remove(p.DatabasePath()))
	if code := p.Wait(t); code != 1 {
		t.Errorf("it ended with exit code %d", code)
	}
}
