package commands

import (
	"fmt"
	"os"
	"path/filepath"

	"users-api/config"
	"users-api/models/sqlite"
)

// becomeUser gives up root for the uid and gid of RUN_AS, once the data directory, where it has the users, belongs to them. Only the container
// image sets RUN_AS: an engine hands a fresh bind mount to root, and nothing in the image but this program could
// change that. A process that is not root, because of --user for one, keeps its user.
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

// takeOverFiles makes what the service writes belong to id.
func takeOverFiles(settings config.Config, id int) {
	takeOver(settings.DataDir, id)
	takeOverDatabase(settings.DatabasePath(), id)
	if settings.Backups.Every > 0 {
		takeOver(settings.Backups.Dir, id)
	}
}

// takeOver makes a directory belong to id. Where that is not allowed, opening what is in it says so, with the owner and
// what to do. A new directory is for id alone: every name and email is in it. Directories above it must stay open to id,
// which does not own them.
func takeOver(directory string, id int) {
	_ = sqlite.MakeDirectory(filepath.Dir(directory), 0o755)
	_ = sqlite.MakeDirectory(directory, 0o700)
	_ = os.Lchown(directory, id, id)
}

func takeOverDatabase(database string, id int) {
	for _, path := range []string{database, database + "-wal", database + "-shm", database + "-journal"} {
		_ = os.Lchown(path, id, id)
	}
}
