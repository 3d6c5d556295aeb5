package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"gorm.io/gorm"

	"users-api/database/dbfile"
	"users-api/models"
)

// namedFile is a file that SQLite has open, and the name under which it was found. SQLite in WAL mode does not notice when
// one is removed or replaced: it goes on acknowledging writes to a file without a name. So the names are looked up again
// once a second.
type namedFile struct {
	path string
	info os.FileInfo
}

func findFile(path string) (namedFile, error) {
	info, err := os.Stat(path)
	return namedFile{path, info}, err
}

// isSameFile reports whether the name still leads to the file. Windows leaves the name of an open file alone.
func (n namedFile) isSameFile() bool {
	info, err := os.Stat(n.path)
	return err == nil && (runtime.GOOS == "windows" || os.SameFile(n.info, info))
}

// checkFiles returns ErrReplaced, and closes replaced, once a restart would not find what was written.
func (s *sqlitePool) checkFiles() error {
	s.looking.Lock()
	defer s.looking.Unlock()
	if !s.isLost && !(s.database.isSameFile() && s.wal.isSameFile() && s.shm.isSameFile()) {
		s.isLost = true
		if !s.database.isSameFile() && s.wal.isSameFile() { // it may hold the last commits; another came with the new database
			_, _ = dbfile.SetAsideWAL(s.path)
		}
		close(s.replaced)
	}
	if s.isLost {
		return models.ErrReplaced
	}
	return nil
}

// mayWrite returns nil if this process may write the database file, the files beside it, and their directory. Otherwise
// the error says who may, and what helps: SQLite's own would be "out of memory (14)". It also flushes these files: a process
// may have been killed between writing a commit and flushing it, and from now on, clients are shown that commit.
func mayWrite(path string) error {
	refused := filepath.Dir(path)
	probe, err := os.CreateTemp(refused, filepath.Base(path)+"-probe-")
	if err == nil {
		_ = probe.Close()
		err = os.Remove(probe.Name())
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err == nil {
			refused = file
			if err = dbfile.SyncFile(file); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%s is a directory: move it away, or set DATA_DIR to another directory", refused)
	}
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		err = failed.Err // the name of a probe helps nobody
	}
	return fmt.Errorf("%s cannot be written (%w): this process runs as uid %d; run `chown -R %[3]d %[1]s` if another user "+
		"owns it, mount it writable, or set DATA_DIR to another directory", refused, err, os.Geteuid())
}

// trying makes a copy of the whole file beside it: VACUUM INTO reads one moment, and holds up no write. A copy in memory, or
// of the table alone, would take memory in proportion to the users.
func (s *sqlitePool) trying(ctx context.Context, run func(tx *gorm.DB) error) error {
	directory, name := filepath.Split(s.path)
	size, wal, _ := s.measure(ctx)
	if free, err := dbfile.FreeBytes(directory); err == nil && free < 2*(size+wal) {
		return models.ErrNoRoom
	}
	folder, err := os.MkdirTemp(directory, name+spoolName)
	if err != nil {
		return models.TempFileError(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the next start tries again
	copied := filepath.Join(folder, name)
	if err = s.readers.WithContext(ctx).Exec("VACUUM INTO ?", copied).Error; err == nil {
		var db *gorm.DB // on it, which need not survive anything
		db, err = openPool(copied, s.fields, 1, []string{"synchronous(OFF)", "temp_store(MEMORY)", largeCache})
		if db != nil {
			defer dbfile.Close(db)
		}
		if err == nil {
			err = db.Transaction(func(tx *gorm.DB) error { return run(tx.WithContext(ctx)) })
		}
	}
	return err
}

// removeTempFiles removes what a killed process has left.
func removeTempFiles(prefix string) error {
	directory, name := filepath.Split(prefix)
	entries, err := os.ReadDir(filepath.Clean(directory))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), name) {
			err = errors.Join(err, os.RemoveAll(directory+entry.Name())) // another process that starts may have done so already
		}
	}
	return err
}

// CheckFile returns why the service could not serve a database file that is sound. The next start says which optional fields
// it lacks.
func CheckFile(db *gorm.DB) error {
	fields := slices.DeleteFunc(models.NewFields(), func(f *models.Field) bool { return !f.Required })
	_, err := look(db, sqliteDialect{}, fields)
	shown, _ := sqliteDialect{}.classify(err)
	return shown
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
