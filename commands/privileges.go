package commands

import (
	"fmt"
	"os"
	"path/filepath"

	"users-api/config"
	"users-api/models/sqlite/dbfile"
)

// becomeUser switches from root to the uid and gid of RUN_AS. If the users are in the data directory, it first gives
// the directory to that user. Only the container image sets RUN_AS: a container engine gives a fresh bind mount to
// root, and nothing else in the image could change that. A process that is not root, for example because of --user,
// keeps its user.
func becomeUser(settings config.Config, database database) error {
	if settings.RunAs == 0 || os.Geteuid() != 0 {
		return nil
	}
	id := int(settings.RunAs)
	if database.url == "" {
		takeOverFiles(settings, id)
	}
	if err := setUser(id); err != nil {
		return fmt.Errorf("cannot become uid %d: %w; grant SETUID and SETGID, or start as that user (--user %d:%d)", id, err, id, id)
	}
	return nil
}

func takeOverFiles(settings config.Config, id int) {
	takeOver(settings.DataDir, id)
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Lchown(settings.DatabasePath()+suffix, id, id)
	}
	if settings.Backups.Every > 0 {
		takeOver(settings.Backups.Dir, id)
	}
}

// takeOver gives a directory to id. If that is not allowed, opening a file in it fails later with an error that names
// the owner and what to do. A new directory is for id alone, because it holds every name and email. Its parent
// directories must be open to id, which does not own them.
func takeOver(directory string, id int) {
	_ = dbfile.MakeDirectory(filepath.Dir(directory), 0o755)
	_ = dbfile.MakeDirectory(directory, 0o700)
	_ = os.Lchown(directory, id, id)
}
