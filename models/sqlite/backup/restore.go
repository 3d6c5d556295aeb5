package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"users-api/models"
	"users-api/models/sqlite"
	"users-api/models/sqlite/dbfile"
)

// Restored describes a restored database.
type Restored struct {
	Copy
	// Kept is where the previous database is; empty if there was none.
	Kept string
}

// Restore puts the database from a file or a stream at path, and keeps the previous one beside it. It refuses while any
// process has the database at path open.
//
// The candidate is copied beside the database and checked there. Only then is the database touched, and one rename
// replaces it: at any time, and whenever this process is killed, path leads to the old or the new database, complete.
func Restore(ctx context.Context, path string, fields models.Fields, from *os.File, progress Progress) (Restored, error) {
	target, err := prepareTarget(path, from)
	if err != nil {
		return Restored{}, err
	}
	candidate, err := newPartial(target)
	if err != nil {
		return Restored{}, fmt.Errorf("cannot copy %s beside the database: %w", from.Name(), err)
	}
	defer os.Remove(candidate) //nolint:errcheck // it has another name once it is restored
	if err := receive(ctx, candidate, from, progress); err != nil {
		return Restored{}, fmt.Errorf("cannot copy %s beside the database: %w", from.Name(), err)
	}
	copied, err := checkCandidate(ctx, candidate, fields)
	if err != nil {
		return Restored{}, fmt.Errorf("%s cannot be restored, and nothing was changed: %w", from.Name(), err)
	}
	if err := beginFeedAgain(candidate); err != nil {
		return Restored{}, fmt.Errorf("cannot begin the feed of changes again in the restored database: %w", err)
	}
	if err := giveToOwner(candidate, target); err != nil {
		return Restored{}, fmt.Errorf("cannot give the restored database to the owner of %s: %w", target, err)
	}
	if err := dbfile.SyncFile(candidate); err != nil {
		return Restored{}, fmt.Errorf("cannot bring the restored database to disk: %w", err)
	}
	kept, err := replace(target, candidate)
	return Restored{copied, kept}, err
}

// prepareTarget returns where the database is, or will be. It refuses, before anything is read, what would be refused
// later.
func prepareTarget(path string, from *os.File) (target string, err error) {
	if err := dbfile.MakeDirectory(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("cannot make the data directory: %w; make it by hand, or set DATA_DIR to another", err)
	}
	if err := expectComplete(from.Name()); err != nil {
		return "", err
	}
	if target, err = dbfile.FollowLinks(path); err != nil {
		return "", err
	}
	return target, dbfile.ExpectUnused(target)
}

// expectComplete returns an error if the files beside a database hold commits, or changes that must be rolled back. The
// name of a redirected standard input is a link to its source.
func expectComplete(path string) error {
	path, err := dbfile.FollowLinks(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s-wal holds the last commits of %s, which is therefore incomplete: make a complete file with "+
			"`users-api backup`, or with sqlite3's command `VACUUM INTO`", path, path)
	}
	return dbfile.ExpectNoHotJournal(path)
}

func receive(ctx context.Context, path string, from *os.File, progress Progress) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	size := int64(0)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(copyUntil(ctx, &counted{file, 0, size, progress}, from), file.Close())
}

// counted reports how much is written through it.
type counted struct {
	io.Writer
	done, total int64
	progress    Progress
}

func (c *counted) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.done += int64(n)
	if c.progress != nil {
		c.progress(c.done, c.total)
	}
	return n, err
}

// checkCandidate checks every page of a database, and reads every user as the service will.
func checkCandidate(ctx context.Context, path string, fields models.Fields) (copied Copy, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return copied, err
	}
	if copied.Bytes = info.Size(); copied.Bytes == 0 {
		return copied, errors.New("it is empty")
	}
	conn, err := dbfile.Open(path, dbfile.Immutable, forCopies()...)
	if err != nil {
		return copied, explainCandidate(err)
	}
	defer conn.Close()
	err = conn.Until(ctx, func() (err error) {
		if err = checkPages(conn, "integrity_check"); err == nil {
			copied.Users, err = sqlite.CheckUsers(conn, fields)
		}
		return err
	})
	return copied, explainCandidate(err)
}

// beginFeedAgain makes the cursors that clients have invalid.
func beginFeedAgain(candidate string) error {
	conn, err := dbfile.Open(candidate, dbfile.ReadWrite, "synchronous(FULL)")
	if err != nil {
		return err
	}
	defer conn.Close()
	return sqlite.BeginFeedAgain(conn)
}

// explainCandidate says in plain words what SQLite found.
func explainCandidate(err error) error {
	switch dbfile.PrimaryCode(err) {
	case dbfile.CodeNotADB:
		return errors.New("it is not an SQLite database")
	case dbfile.CodeCorrupt:
		return fmt.Errorf("it is damaged: %w", err)
	}
	return err
}

// giveToOwner gives a file the owner and the mode of the database that it will replace, or the owner of the directory
// if there is none: root may restore what another user serves.
func giveToOwner(path, target string) error {
	old, err := os.Stat(target)
	if err == nil {
		err = os.Chmod(path, old.Mode().Perm())
	} else {
		old, err = os.Stat(filepath.Dir(target))
	}
	if err != nil {
		return err
	}
	return giveTo(path, old)
}

// replace puts the candidate in the place of the database, and returns where the old database is kept.
func replace(target, candidate string) (kept string, err error) {
	kept = target + ".replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	release, err := dbfile.LockExclusive(target)
	if errors.Is(err, os.ErrNotExist) {
		if err := quarantineBeside(target, kept); err != nil {
			return "", err
		}
		return "", place(candidate, target)
	}
	if err != nil {
		return "", err
	}
	release = sync.OnceFunc(release)
	defer release()
	removeSecondNames(target)
	if err := os.Link(target, kept); err != nil {
		return "", fmt.Errorf("cannot keep the old database, so nothing was changed: %w", err)
	}
	if err := quarantineBeside(target, kept); err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" { // Windows does not replace an open file: a service that starts now is safe
		release()
	}
	return kept, errors.Join(os.Rename(candidate, target), dbfile.SyncName(target))
}

// quarantineBeside moves away the files beside the database, which SQLite would mix into the new one, and returns once
// that is on disk. They are kept because they may hold commits of a database that is damaged or gone.
func quarantineBeside(target, kept string) error {
	for _, ending := range []string{"-wal", "-journal"} {
		if err := os.Rename(target+ending, kept+ending); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(target + "-shm") // it holds nothing of its own
	return dbfile.SyncName(target)
}

// removeSecondNames removes what a restore leaves behind if it is killed midway: a second name of the database that is
// still in its place. SQLite must not open one file under two names.
func removeSecondNames(target string) {
	database, err := os.Stat(target)
	if err != nil {
		return
	}
	entries, _ := os.ReadDir(filepath.Dir(target))
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && os.SameFile(info, database) && strings.HasPrefix(entry.Name(), filepath.Base(target)+".replaced-") {
			_ = os.Remove(filepath.Join(filepath.Dir(target), entry.Name()))
		}
	}
}
