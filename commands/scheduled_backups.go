package commands

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"users-api/config"
	"users-api/models/sqlite/backup"
	"users-api/models/sqlite/dbfile"
)

// Backups made by the running service are named users-ID-TIME.db: the id of the service's backups, and the time at
// which the backup began. Only files with such a name are ever deleted.
const backupTime = "20060102T150405Z"

// partialBackup matches the name of an unfinished backup. Earlier versions left out the id.
var partialBackup = regexp.MustCompile(`^users-([a-z2-7]{8}-)?\d{8}T\d{6}Z\.db\.\d+\.partial$`)

// retryTime is how long after a failure the next backup is tried, unless BACKUP_EVERY is shorter.
const retryTime = time.Hour

// backups makes backups while the service runs, and deletes the oldest ones. A failure is logged and never stops the
// service.
type backups struct {
	config.Backups
	dataDir  string
	database string
	logger   *slog.Logger
	newest   atomic.Int64 // start time of the newest, in Unix seconds; 0 if there is none
}

// newBackups finds the existing backups. With PostgreSQL the service makes none.
func newBackups(settings config.Config, database database, logger *slog.Logger) *backups {
	b := &backups{Backups: settings.Backups, dataDir: settings.DataDir, database: database.path, logger: logger}
	if database.url == "" {
		b.look()
	}
	return b
}

// lastBackup returns when the newest backup began, or 1970 if there is none.
func (b *backups) lastBackup() time.Time { return time.Unix(b.newest.Load(), 0) }

// start makes backups until the context ends or stop is called, which cancels a backup in progress and leaves nothing
// of it behind.
func (b *backups) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	if b.Every > 0 {
		running.Go(func() { b.run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}

// run makes a backup whenever the newest is older than BACKUP_EVERY, until the context ends. Another service may share
// the directory, so run looks again before each backup.
func (b *backups) run(ctx context.Context) {
	_ = dbfile.MakeDirectory(b.Dir, 0o700) // makeOne reports the error
	if sameDisk(b.Dir, b.database) {       // if that disk breaks, both are lost
		b.logger.Warn("the backups are on the same disk as the database: set BACKUP_DIR to a directory on another",
			"backups", b.Dir)
	}
	for wait := b.untilDue(); ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		b.look()
		if wait = b.untilDue(); wait > 0 {
			continue
		}
		if wait = min(b.Every, retryTime); b.makeOne(ctx) {
			wait = b.untilDue()
		}
	}
}

func (b *backups) untilDue() time.Duration { return time.Until(b.lastBackup().Add(b.Every)) }

// look stores the time of the newest backup, and returns the names of all backups, oldest first. It ignores a file from
// the future, made while the clock was wrong: the file would count as the newest until that time comes.
func (b *backups) look() (names []string) {
	newest := int64(0)
	defer func() { b.newest.Store(newest) }()
	id, err := b.readID()
	if err != nil {
		return nil // none yet, or the next backup will report the error
	}
	entries, _ := os.ReadDir(b.Dir) // sorted by name; the next backup will report an error
	for _, entry := range entries {
		began, ours := timeOf(entry.Name(), id)
		if ours && entry.Type().IsRegular() && !began.After(time.Now()) {
			names = append(names, entry.Name())
			newest = began.Unix()
		}
	}
	return names
}

func timeOf(name, id string) (began time.Time, ours bool) {
	text, ours := strings.CutPrefix(name, "users-"+id+"-")
	text, ending := strings.CutSuffix(text, ".db")
	began, err := time.Parse(backupTime, text)
	return began, ours && ending && err == nil && began.Format(backupTime) == text // Parse accepts fractions too
}

// makeOne makes a backup, deletes those beyond BACKUP_KEEP, and reports whether it succeeded.
func (b *backups) makeOne(ctx context.Context) bool {
	began := time.Now()
	id, err := b.readOrMakeID()
	path := filepath.Join(b.Dir, "users-"+id+"-"+began.UTC().Format(backupTime)+".db")
	if err == nil {
		err = dbfile.MakeDirectory(b.Dir, 0o700)
	}
	var made backup.Copy
	if err == nil {
		made, err = backup.Make(ctx, b.database, path, nil)
	}
	if ctx.Err() != nil {
		return false // the service is stopping
	}
	if err != nil {
		b.logger.Error("no backup was made", "error", err, "newest", b.lastBackup().UTC())
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
	backup.RemoveAbandoned(b.Dir, partialBackup.MatchString)
}
