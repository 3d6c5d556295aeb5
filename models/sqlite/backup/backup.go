// Package backup makes backups of the database file (backup.go), and puts a backup in its place (restore.go). A backup
// may run beside services that use the database; a restore refuses.
//
// Both write a partial file beside the target, check it, and then give it its final name (partial_file.go).
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"users-api/models/sqlite/dbfile"
)

// Copy describes a backup or a restored database.
type Copy struct {
	Users int64
	Bytes int64
}

// Progress receives how many bytes are done, and how many there are in all: 0 if that is not known. It may be nil.
type Progress func(done, total int64)

// Make copies the database at path to the name target, whether services use it or not. The copy is one file, checked
// and on disk before it gets its name, and it holds every commit that was complete when Make was called. Make never
// replaces a file.
//
// VACUUM INTO reads in one transaction and does not hold up writes. The copy shows the users at one moment, and is as
// small as possible, because it leaves out deleted data. A plain copy of the file would miss the content of the -wal
// file.
func Make(ctx context.Context, path, target string, progress Progress) (Copy, error) {
	target, err := filepath.Abs(target) // SQLite would take a name that begins with "file:" for a URL
	if err != nil {
		return Copy{}, err
	}
	if _, err := os.Lstat(target); err == nil {
		return Copy{}, fmt.Errorf("%s exists already, and is left as it is: choose another name", target)
	}
	partial, err := newPartial(target)
	if err != nil {
		return Copy{}, fmt.Errorf("cannot make the backup %s: %w", target, err)
	}
	defer os.Remove(partial) //nolint:errcheck // it has another name once it is complete
	made, err := copyDatabase(ctx, path, partial, progress)
	if err != nil {
		return Copy{}, err
	}
	if err := place(partial, target); err != nil {
		return Copy{}, fmt.Errorf("cannot make the backup %s: %w", target, err)
	}
	return made, nil
}

// Write is [Make] to a stream. The copy is first created and checked beside the database, where there is room for
// it: a container image has no other writable directory.
func Write(ctx context.Context, path string, out io.Writer, progress Progress) (Copy, error) {
	database, err := dbfile.FollowLinks(path)
	if err != nil {
		return Copy{}, err
	}
	partial, err := newPartial(database)
	if err != nil {
		return Copy{}, fmt.Errorf("cannot make a copy beside the database: %w", err)
	}
	defer os.Remove(partial) //nolint:errcheck // it is already gone if all went well
	made, err := copyDatabase(ctx, path, partial, progress)
	if err != nil {
		return Copy{}, err
	}
	file, err := os.Open(partial)
	if err != nil {
		return Copy{}, err
	}
	defer file.Close()     //nolint:errcheck // it was only read
	_ = os.Remove(partial) // now the file ends with the process, in any case; Windows does not remove an open file
	if err := copyUntil(ctx, out, file); err != nil {
		return Copy{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	return made, nil
}

// copyDatabase copies the database at path into an empty file, which SQLite flushes to disk, and checks the copy.
func copyDatabase(ctx context.Context, path, into string, progress Progress) (Copy, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return Copy{}, fmt.Errorf("there is no database %s: set DATA_DIR to the directory that the service uses", path)
	}
	if err := vacuumInto(ctx, path, into, progress); err != nil {
		if ctx.Err() != nil {
			return Copy{}, ctx.Err()
		}
		if dbfile.PrimaryCode(err) == dbfile.CodeFull {
			return Copy{}, fmt.Errorf("no room for a copy of %s in %s: %w", path, filepath.Dir(into), err)
		}
		return Copy{}, fmt.Errorf("cannot copy the database %s: %w", path, err)
	}
	made, err := checkCopy(ctx, into)
	if err != nil {
		return Copy{}, fmt.Errorf("the copy of %s is not sound, and neither may the database be: %w", path, err)
	}
	return made, nil
}

// vacuumInto copies the database at path into an empty file. The database may belong to another process.
func vacuumInto(ctx context.Context, path, into string, progress Progress) error {
	conn, err := dbfile.Open(path, dbfile.ReadWrite, forCopies()...)
	if err != nil {
		return err
	}
	defer conn.Close()
	const used = `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`
	size, _, err := conn.Number(used)
	if err != nil {
		return err
	}
	defer watchSize(into, size, progress)()
	return conn.Until(ctx, func() error {
		_, err := conn.Exec("VACUUM INTO ?", into)
		return err
	})
}

// forCopies are the settings of connections that make and check copies. VACUUM INTO flushes the copy if synchronous is
// FULL.
func forCopies() []string {
	return []string{fmt.Sprintf("busy_timeout(%d)", dbfile.BusyTimeout.Milliseconds()), "temp_store(MEMORY)", "synchronous(FULL)"}
}

// watchSize reports the growing size of a file to progress, until the function that it returns is called.
func watchSize(path string, total int64, progress Progress) (stop func()) {
	if progress == nil {
		return func() {}
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(100 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				if info, err := os.Stat(path); err == nil {
					progress(min(info.Size(), total), total)
				}
			case <-ending:
				return
			}
		}
	}()
	return func() { close(ending); <-ended; progress(total, total) }
}

// checkCopy checks every page of a copy and counts its users.
func checkCopy(ctx context.Context, path string) (made Copy, err error) {
	conn, err := dbfile.Open(path, dbfile.Immutable, forCopies()...)
	if err != nil {
		return made, err
	}
	defer conn.Close()
	err = conn.Until(ctx, func() (err error) {
		if err = checkPages(conn, "quick_check"); err == nil {
			made.Users, _, err = conn.Number("SELECT count(*) FROM users")
		}
		return err
	})
	if err != nil {
		return made, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return made, err
	}
	made.Bytes = info.Size()
	return made, nil
}

// checkPages runs quick_check or integrity_check, which also compares indexes with their tables.
func checkPages(conn *dbfile.Connection, check string) error {
	result, err := conn.Setting(check + "(1)")
	if err == nil && result != "ok" {
		err = fmt.Errorf("%s says: %s", check, result)
	}
	return err
}

// copyUntil is io.Copy, but waits for neither side any longer once the context ends.
func copyUntil(ctx context.Context, to io.Writer, from io.Reader) error {
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(to, from)
		copied <- err
	}()
	select {
	case err := <-copied:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
