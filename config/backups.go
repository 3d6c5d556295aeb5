package config

import (
	"path/filepath"
	"time"
)

// Backups configures the backups that the service makes by itself.
type Backups struct {
	Every time.Duration // BACKUP_EVERY, the time from one backup to the next; 0 makes none
	Keep  int           // BACKUP_KEEP, how many backups are kept; older ones are deleted
	Dir   string        // BACKUP_DIR as an absolute path; if unset, backups in the data directory
}

// minEvery is the least value of BACKUP_EVERY: a backup of 1,000,000 users takes seconds.
const minEvery = time.Minute

func (v *variables) backups(dataDir string) Backups {
	backups := Backups{Dir: filepath.Join(dataDir, "backups")}
	if v.GetString("BACKUP_EVERY") != "" {
		backups.Every = v.duration("BACKUP_EVERY", minEvery, "24h or 90m")
	}
	backups.Keep = int(v.number("BACKUP_KEEP", 1))
	if v.GetString("BACKUP_DIR") != "" {
		backups.Dir = v.absolutePath("BACKUP_DIR")
	}
	return backups
}
