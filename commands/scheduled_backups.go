package commands

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"users-api/config"
	"users-api/database/backup"
	"users-api/database/dbfile"
)

// backupName is the name of a backup that the running service makes, with the time at which it began. Only files with
// such a name are ever deleted.
const backupName = "users-20060102T150405Z.db"

// retryTime is how long after a failure the next backup is tried, unless BACKUP_EVERY is shorter.
const retryTime = time.Hour

// backups makes backups while the service runs, and deletes the oldest ones. A failure is logged and never stops the
// service.
type backups struct {
	config.Backups
	database string // the path of its file
	logger   *slog.Logger
	newest   atomic.Int64 // when the newest began, in Unix seconds; 0 if there is none
}

// lastBackup returns when the newest backup began, or 1970 if there is none.
func (b *backups) lastBackup() time.Time { return time.Unix(b.newest.Load(), 0) }

// run makes a backup whenever the newest is older than BACKUP_EVERY, until the context ends. Other processes may serve
// the same file and make them too, so run looks again before each.
func (b *backups) run(ctx context.Context) {
	for said := false; ; {
		b.look()
		next := b.lastBackup().Add(b.Every)
		wait := time.Until(next)
		switch isDue := wait <= 0; {
		case isDue && b.makeOne(ctx):
			wait = b.Every - time.Since(b.lastBackup())
		case isDue:
			wait = min(b.Every, retryTime)
		case !said: // the newest is of an earlier start, of another process, or of another database
			said = true
			b.logger.Info("no backup is due: if the newest is of another database, set BACKUP_DIR to another directory",
				"backups", b.Dir, "newest", b.lastBackup().UTC(), "next", next.UTC())
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// look stores the time of the newest backup, and returns the names of all, oldest first. It ignores a file from the
// future, made while the clock was wrong: the file would count as the newest until that time comes.
func (b *backups) look() (names []string) {
	newest := int64(0)
	entries, _ := os.ReadDir(b.Dir) // sorted by name; the next backup will report an error
	for _, entry := range entries {
		began, err := time.Parse(backupName, entry.Name())
		exact := began.Format(backupName) == entry.Name() // Parse accepts fractions too
		if err == nil && exact && entry.Type().IsRegular() && !began.After(time.Now()) {
			names, newest = append(names, entry.Name()), began.Unix()
		}
	}
	b.newest.Store(newest)
	return names
}

// makeOne makes a backup, deletes all but BACKUP_KEEP of them, and reports whether it succeeded.
func (b *backups) makeOne(ctx context.Context) bool {
	began := time.Now()
	path := filepath.Join(b.Dir, began.UTC().Format(backupName))
	var made backup.Copy
	err := dbfile.MakeDirectory(b.Dir, 0o700)
	if err == nil {
		made, err = backup.Make(ctx, b.database, path)
	}
	if ctx.Err() != nil {
		return false // the service is stopping
	}
	if err != nil {
		newest := slog.String("newest", "none")
		if b.newest.Load() > 0 {
			newest = slog.Time("newest", b.lastBackup().UTC())
		}
		b.logger.Error("no backup was made", "error", err, newest)
		return false
	}
	b.logger.Info("backup made", "file", path, "users", made.Users, "bytes", made.Bytes, "duration", time.Since(began))
	b.prune(filepath.Base(path))
	return true
}

// prune deletes the oldest backups, but none as new as the one just made. It also deletes the partial files of backups
// that were killed a day ago or earlier.
func (b *backups) prune(made string) {
	names := b.look()
	for _, name := range names[:max(0, len(names)-b.Keep)] {
		if name >= made {
			break
		}
		if err := os.Remove(filepath.Join(b.Dir, name)); err != nil {
			b.logger.Warn("an old backup cannot be deleted", "error", err)
		}
	}
	backup.RemoveAbandoned(b.Dir, `users-\d{8}T\d{6}Z\.db`)
}
