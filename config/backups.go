package config

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/viper"
)

// Backups configures the backups that the service makes by itself.
type Backups struct {
	// Every is BACKUP_EVERY, the time from one backup to the next; 0 makes none.
	Every time.Duration
	// Keep is BACKUP_KEEP, how many backups are kept. Older ones are deleted.
	Keep int
	// Dir is BACKUP_DIR as an absolute path. If unset, it is backups in the data directory.
	Dir string
}

// minEvery is the least value of BACKUP_EVERY: a backup of 1,000,000 users takes seconds.
const minEvery = time.Minute

// readBackups reads the settings of backups.
func readBackups(env *viper.Viper, dataDir string) (backups Backups, err error) {
	if every := env.GetString("BACKUP_EVERY"); every != "" {
		if backups.Every, err = time.ParseDuration(every); err != nil || backups.Every < minEvery {
			return backups, fmt.Errorf("BACKUP_EVERY is %q: it must be a time of at least 1m, such as 24h or 90m", every)
		}
	}
	keep, err := readNumber(env, "BACKUP_KEEP")
	if err != nil || keep == 0 {
		return backups, fmt.Errorf("BACKUP_KEEP is %q: it must be a whole number from 1 to 65535",
			env.GetString("BACKUP_KEEP"))
	}
	backups.Keep = int(keep)
	backups.Dir = filepath.Join(dataDir, "backups")
	if directory := env.GetString("BACKUP_DIR"); directory != "" {
		if backups.Dir, err = filepath.Abs(directory); err != nil {
			return backups, fmt.Errorf("BACKUP_DIR is %q and cannot be made absolute: %w", directory, err)
		}
	}
	return backups, nil
}
