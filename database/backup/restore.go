package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"users-api/database"
	"users-api/database/dbfile"
)

// Restore puts the database from a file or a stream at path, and keeps the previous one beside it. It refuses while any
// process has that open. The candidate is copied beside the database and checked. Then one rename replaces the
// database: whenever this process is killed, path leads to the old or the new one.
func Restore(ctx context.Context, path string, from *os.File) (r Copy, err error) {
	// What would be refused later is refused before anything is read.
	if err := dbfile.MakeDirectory(filepath.Dir(path), 0o700); err != nil {
		return r, fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	source := dbfile.FollowLinks(from.Name()) // also that of a redirected standard input
	if wal, err := os.Stat(source + "-wal"); err == nil && wal.Size() > 0 {
		return r, fmt.Errorf("%s-wal holds the last commits of %[1]s, which is therefore incomplete: make a complete "+
			"file with `users-api backup`, or with sqlite3's command `VACUUM INTO`", source)
	}
	target := dbfile.FollowLinks(path)
	file, err := newPartial(target)
	if err == nil {
		defer os.Remove(file.Name()) //nolint:errcheck // it has another name once it is restored
		err = errors.Join(copyUntil(ctx, file, from), file.Close())
	}
	if err != nil {
		return r, fmt.Errorf("cannot copy %s beside the database: %w", from.Name(), err)
	}
	candidate := file.Name()
	r, err = check(ctx, candidate, "integrity_check", database.CheckFile)
	switch dbfile.PrimaryCode(err) {
	case sqlite3.SQLITE_NOTADB:
		err = errors.New("it is not an SQLite database")
	case sqlite3.SQLITE_CORRUPT:
		err = fmt.Errorf("it is damaged: %w", err)
	}
	if err == nil {
		err = finish(candidate, target)
	}
	if err != nil {
		return r, fmt.Errorf("%s cannot be restored, and nothing was changed: %w", from.Name(), err)
	}
	r.Kept, err = replace(ctx, target, candidate)
	return r, err
}

// finish makes the cursors that clients have invalid. It gives the candidate the mode and the owner of the database, or
// the owner of the directory if there is none: root may restore what another user serves. Then it brings all to disk.
func finish(candidate, target string) error {
	db, err := dbfile.Open(candidate, dbfile.ReadWrite, "synchronous(FULL)")
	if err != nil {
		return err
	}
	err = database.BeginEpoch(db)
	dbfile.Close(db)
	if err != nil {
		return err
	}
	old, err := os.Stat(target)
	if err == nil {
		err = os.Chmod(candidate, old.Mode().Perm())
	} else {
		old, err = os.Stat(filepath.Dir(target))
	}
	if err != nil {
		return err
	}
	return errors.Join(dbfile.GiveTo(candidate, old), dbfile.SyncFile(candidate))
}

// replace puts the candidate in the place of the database, and returns where the old database is kept.
func replace(ctx context.Context, target, candidate string) (kept string, err error) {
	kept = target + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	old, release, err := dbfile.LockExclusive(target)
	isGone := errors.Is(err, os.ErrNotExist)
	switch {
	case isGone:
	case dbfile.PrimaryCode(err) != 0:
		return "", fmt.Errorf("SQLite cannot open the old database %s, so nothing was changed: %w; if it is damaged, "+
			"move it away by hand, with its -wal or -journal file if there is one, and try again", target, err)
	case err != nil:
		return "", err
	default:
		defer release()
		if err := keep(ctx, old, kept); err != nil {
			return "", fmt.Errorf("cannot keep the old database, so nothing was changed: %w", err)
		}
	}
	// SQLite would mix the files beside the old database into the new one. They may hold commits of one that is gone.
	for _, ending := range []string{"-wal", "-journal"} {
		if err := os.Rename(target+ending, kept+ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	if err := dbfile.SyncName(target); err != nil {
		return "", err
	}
	if isGone {
		return "", place(candidate, target)
	}
	if runtime.GOOS == "windows" { // Windows does not replace an open file: a service that starts now is safe
		release()
	}
	return kept, errors.Join(os.Rename(candidate, target), dbfile.SyncName(target))
}

// keep gives the database a second name, or copies it where the file system has no links (FAT, many network shares).
func keep(ctx context.Context, old *os.File, kept string) error {
	if os.Link(old.Name(), kept) == nil {
		return nil
	}
	copied, err := newPartial(old.Name())
	if err != nil {
		return err
	}
	defer os.Remove(copied.Name()) //nolint:errcheck // it has another name if all went well
	if err = errors.Join(copyUntil(ctx, copied, old), copied.Sync(), copied.Close()); err != nil {
		return err
	}
	return place(copied.Name(), kept)
}
