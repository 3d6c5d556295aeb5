package backups

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"users-api/tests/program"
)

func TestBackupsAreMadeWhileTheServiceRunsAndOthersFilesAreKept(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	directory := t.TempDir()
	const folder, partial = "users-20190101T000000Z.db", "users-20200101T000000Z.db.123.partial"
	foreign := []string{"users-20200101T000000Z.db.bak", "users-20201301T000000Z.db", "users-20200101T000000.5Z.db",
		"my-users-20200101T000000Z.db", "users.db", "users-20200101T000000Z.db.1.partial.txt",
		"users-abcdefg3-20200101T000000Z.db", "users-abcdefg3-20200101T000000Z.db.1.partial"} // of an earlier version
	own := []string{"users-20200101T000000Z.db", "users-20200102T000000Z.db", "users-20200103T000000Z.db"}
	for _, name := range slices.Concat(foreign, own, []string{partial}) {
		program.WriteFile(t, filepath.Join(directory, name), name)
	}
	longAgo := time.Now().Add(-48 * time.Hour)
	program.Must(t, errors.Join(os.Mkdir(filepath.Join(directory, folder), 0o700),
		os.Chtimes(filepath.Join(directory, partial), longAgo, longAgo)))
	settings := []string{"BACKUP_EVERY=24h", "BACKUP_KEEP=2", "BACKUP_DIR=" + directory}
	p := program.Serve(t, settings...)
	for _, text := range []string{" backups=24h ", "backup made", "users=0"} {
		p.WaitForLog(t, text)
	}
	p.Stop(t)
	program.Forbid(t, p.Log(), "no backup is due")
	made := slices.DeleteFunc(program.NamesIn(t, directory), func(name string) bool { return slices.Contains(foreign, name) })
	if len(made) != 3 || made[0] != folder || made[1] != own[2] {
		t.Fatalf("of the service's backups there are %v", made)
	}
	want := slices.Sorted(slices.Values(append(slices.Clone(foreign), made...)))
	program.ExpectNames(t, directory, want...)
	copied, _ := program.ServeCopy(t, filepath.Join(directory, made[2]))
	copied.ExpectUsers(t)
	again := program.Serve(t, append(settings, "DATA_DIR="+p.DataDir)...)
	again.WaitForLog(t, "no backup is due")
	again.WaitForLog(t, "backups="+directory)
	again.Stop(t)
	program.Forbid(t, again.Log(), "backup made")
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
	program.ExpectNames(t, directory, made, future[0], future[1])
}

func TestTheLogSaysWhatIsWrongWithTheDirectoryOfBackups(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Backups)
	p := program.Serve(t, "BACKUP_EVERY=24h")
	for _, text := range []string{"the backups are on the same disk as the database", p.DataDir + "/backups", "backup made"} {
		p.WaitForLog(t, text)
	}
	q := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_DIR="+program.SmallDisk(t, "4m"))
	q.WaitForLog(t, "backup made")
	program.Forbid(t, q.Log(), "same disk")
	none := program.Serve(t, "BACKUP_EVERY=24h", "BACKUP_DIR=/proc/none")
	program.Expect(t, "the log", none.Line(t, "no backup was made"), "…/proc/none…")
	none.Create(t, "Ada", "ada@example.org")
}
