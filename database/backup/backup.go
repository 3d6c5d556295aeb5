// Package backup makes backups of the database file, even while services run, and restores one while none runs. Both
// write a partial file beside the target, check it, and then give it its final name.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gorm.io/gorm"
	sqlite3 "modernc.org/sqlite/lib"

	"users-api/database/dbfile"
)

// Copy describes a backup or a restored database.
type Copy struct {
	Users, Bytes int64
	Kept         string // where the database is that a restored one has replaced; "" if there was none
}

// Make copies the database at path to the name target, an absolute path, whether services use it or not, and never
// replaces a file. The copy is checked and on disk before it gets its name, and holds every commit that was complete
// when Make was called.
func Make(ctx context.Context, path, target string) (Copy, error) {
	if _, err := os.Lstat(target); err == nil {
		return Copy{}, fmt.Errorf("%s exists already, and is left as it is: choose another name", target)
	}
	return copyDatabase(ctx, path, target, func(partial string) error { return place(partial, target) })
}

// Write is [Make] to a stream. The copy is made beside the database: a container image has no other writable directory.
func Write(ctx context.Context, path string, out io.Writer) (Copy, error) {
	return copyDatabase(ctx, path, dbfile.FollowLinks(path), func(partial string) error {
		file, err := os.Open(partial)
		if err != nil {
			return err
		}
		defer file.Close()     //nolint:errcheck // it was only read
		_ = os.Remove(partial) // now the file ends with the process, in any case; Windows does not remove an open file
		if err := copyUntil(ctx, out, file); err != nil {
			return fmt.Errorf("cannot write the backup: %w", err)
		}
		return nil
	})
}

// copyDatabase copies the database at path into a partial file beside target, checks it, and uses it.
// VACUUM INTO reads in one transaction, holds up no writes, and leaves out deleted data. A plain copy of the file would
// miss the content of the -wal file. With synchronous FULL, SQLite flushes the copy to disk.
func copyDatabase(ctx context.Context, path, target string, use func(partial string) error) (made Copy, err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return made, fmt.Errorf("there is no database %s: set DATA_DIR to the directory that the service uses", path)
	}
	file, err := newPartial(target)
	if err != nil {
		return made, fmt.Errorf("cannot make a copy of the database in %s: %w", filepath.Dir(target), err)
	}
	partial := file.Name()
	defer os.Remove(partial) //nolint:errcheck // it has another name, or none, if all went well
	_ = file.Close()         // SQLite writes it
	db, err := dbfile.Open(path, dbfile.ReadWrite, "temp_store(MEMORY)", "synchronous(FULL)")
	if err == nil {
		err = db.WithContext(ctx).Exec("VACUUM INTO ?", partial).Error
		dbfile.Close(db)
	}
	switch {
	case ctx.Err() != nil: // what it interrupts may have no error
		return made, ctx.Err()
	case dbfile.PrimaryCode(err) == sqlite3.SQLITE_FULL:
		return made, fmt.Errorf("no room for a copy of %s in %s: %w", path, filepath.Dir(target), err)
	case err != nil:
		return made, fmt.Errorf("cannot copy the database %s: %w", path, err)
	}
	made, err = check(ctx, partial, "quick_check", func(*gorm.DB) error { return nil })
	switch {
	case err == nil:
		err = use(partial)
	case ctx.Err() == nil:
		err = fmt.Errorf("the copy of %s is not sound, and neither may the database be: %w", path, err)
	}
	return made, err
}

// check checks every page of a file, by quick_check, or by integrity_check, which also compares indexes with tables, and
// then by a function.
func check(ctx context.Context, path, by string, expect func(*gorm.DB) error) (checked Copy, err error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 { // for SQLite, it is a database
		err = errors.New("it is empty")
	}
	if err != nil {
		return checked, err
	}
	db, err := dbfile.Open(path, dbfile.Immutable, "temp_store(MEMORY)")
	if err != nil {
		return checked, err
	}
	defer dbfile.Close(db)
	db = db.WithContext(ctx)
	// The end of the context interrupts what Exec does, and not what a query does.
	const checkAll = "CREATE TEMP TABLE checked (result); INSERT INTO checked SELECT * FROM pragma_%s LIMIT 1"
	const read = "SELECT result, EXISTS (SELECT 1 FROM pragma_table_list('users')) FROM checked"
	result, hasUsers := "", false
	if err = db.Exec(fmt.Sprintf(checkAll, by)).Error; err == nil {
		err = db.Raw(read).Row().Scan(&result, &hasUsers)
	}
	switch {
	case err != nil:
	case result != "ok":
		first, _, _ := strings.Cut(strings.TrimPrefix(result, "*** in database main ***\n"), "\n")
		err = fmt.Errorf("%s says: %s", by, first)
	case !hasUsers:
		err = errors.New("it has no table users")
	default:
		checked.Bytes = info.Size()
		if err = expect(db); err == nil {
			err = db.Raw("SELECT count(*) FROM users").Row().Scan(&checked.Users)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return checked, err
}

// copyUntil is io.Copy, but waits for neither side any longer once the context ends. It hides what io.Copy would use to
// let the system copy: on some file systems a restored database would then share its blocks with the backup.
func copyUntil(ctx context.Context, to io.Writer, from io.Reader) error {
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(struct{ io.Writer }{to}, from)
		copied <- err
	}()
	select {
	case err := <-copied:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newPartial creates an empty file beside target, for this user alone, and removes those that killed processes left. It
// gets its final name once it is complete and on disk, so any file with a final name is complete.
func newPartial(target string) (*os.File, error) {
	RemoveAbandoned(filepath.Dir(target), regexp.QuoteMeta(filepath.Base(target)))
	return os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*.partial")
}

// RemoveAbandoned removes partial files of killed processes, whose final names a regular expression matches. A live
// process writes its file often, so one of yesterday has none.
func RemoveAbandoned(directory, finalName string) {
	partial := regexp.MustCompile("^" + finalName + `\.\d+\.partial(-wal|-shm|-journal)?$`)
	entries, _ := os.ReadDir(directory) // its next use reports what is wrong with it
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && partial.MatchString(info.Name()) && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}

// place gives a partial file, which is on disk, the name target. It never replaces a file.
func place(partial, target string) error {
	err := os.Link(partial, target)
	if err == nil {
		return errors.Join(os.Remove(partial), dbfile.SyncName(target))
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already, and is left as it is", target)
	}
	// Some file systems, such as those of USB sticks, have no links: there, a new file takes the name, and is replaced.
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Rename(partial, target), dbfile.SyncName(target))
}
