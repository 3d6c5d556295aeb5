package commands

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"users-api/models/sqlite/dbfile"
)

// backupID is the file in the data directory that holds the id of this service's backups. Two services may share a
// BACKUP_DIR, and in containers each has its database at the same path, so a random id in the file names tells their
// backups apart. A restore leaves the file alone. Services that share a data directory share the id.
const backupID = "backup-id"

var validID = regexp.MustCompile(`^[a-z2-7]{8}$`)

// readID returns the id. Before the first backup the error is fs.ErrNotExist.
func (b *backups) readID() (string, error) {
	path := filepath.Join(b.dataDir, backupID)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(text))
	if !validID.MatchString(id) {
		return "", fmt.Errorf("%s holds %.20q, which is no id: delete the file, and the next backup makes a new one", path, id)
	}
	return id, nil
}

// readOrMakeID returns the id, and creates it if there is none. If several processes create one at once, all use the
// first: a link never replaces a file.
func (b *backups) readOrMakeID() (string, error) {
	id, err := b.readID()
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	file, err := os.CreateTemp(b.dataDir, backupID+".*.partial")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // a rename has moved it
	_, err = file.WriteString(strings.ToLower(rand.Text()[:8]) + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	path := filepath.Join(b.dataDir, backupID)
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(file.Name(), path); err != nil { // a file system without links
			return "", err
		}
	}
	if err := dbfile.SyncName(path); err != nil { // a power cut must not make earlier backups those of another service
		return "", err
	}
	return b.readID()
}
