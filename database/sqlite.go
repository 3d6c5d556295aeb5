package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gorm.io/gorm"
	sqlite3 "modernc.org/sqlite/lib"

	"users-api/database/dbfile"
	"users-api/database/groupcommit"
	"users-api/models"
)

// sqlitePool is one SQLite file in WAL mode, through three pools of connections:
//
//   - writer has one connection, whose transactions take the write lock at once;
//   - readers has four. A page takes about 1 ms, so more would only wait for a core, and each costs up to 2 MiB of page
//     cache;
//   - fresh has one, which tells whether anything was committed (PRAGMA data_version: 8 µs).
type sqlitePool struct {
	writer, readers, fresh *gorm.DB

	commits  prometheus.Histogram
	group    groupcommit.Group[*gorm.DB, models.Change]
	path     string          // of the database, without links
	fields   models.Fields   // of a user
	ended    context.Context // ends all waiting
	replaced chan struct{}   // closed once the file was found removed or replaced

	database, wal, shm namedFile

	looking sync.Mutex // guards isLost
	isLost  bool       // the file was found removed or replaced

	writeLock chan struct{} // holds a value while a write is under way
	// When the last import ended, and the -wal file was last truncated; they belong to the holder of writeLock.
	imported, truncated time.Time
}

const (
	spoolName  = "-spool-" // is what a temporary file or folder has behind the name of the database
	maxReaders = 4
	busyTick   = 50 * time.Millisecond // how long SQLite itself waits for a lock, where a stop can end the wait too
	walLimit   = 256 << 20             // of bytes: from there on, a commit waits for readers that overlap without a gap
)

// pragmas are the settings of every connection.
func pragmas(busyTimeout time.Duration) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"journal_mode(WAL)",  // readers and the writer do not wait for each other
		"synchronous(FULL)",  // a commit is on disk before its response; NORMAL may lose it in a power cut
		"secure_delete(ON)",  // what is deleted is overwritten
		"temp_store(MEMORY)", // a scratch container has no /tmp
	}
}

// openSQLite opens the database file, and creates the directory, the file and the table if they are missing. It returns how
// many searches can run at once.
func (u *Users) openSQLite(ctx context.Context, d Location) (searchers int, err error) {
	if err = dbfile.MakeDirectory(filepath.Dir(d.Path), 0o700); err != nil {
		const help = "cannot make the data directory: %w; make it by hand, or set DATA_DIR to another"
		return 0, fmt.Errorf(help, err)
	}
	file, made := os.OpenFile(d.Path, os.O_CREATE|os.O_RDWR, 0o600) // SQLite gives the files beside it the same mode
	if made == nil {
		made = file.Close()
	}
	path := dbfile.FollowLinks(d.Path)
	if err = cmp.Or(mayWrite(path), made); err == nil {
		err = dbfile.SetAsideForeignWAL(path, d.Logger)
	}
	if err != nil {
		return 0, err
	}
	s := &sqlitePool{path: path, fields: d.Fields, ended: u.ended, commits: newCommits(), replaced: make(chan struct{}),
		writeLock: make(chan struct{}, 1)}
	s.group = groupcommit.Group[*gorm.DB, models.Change]{
		Transact: s.share, IsBroken: spoilsOthers, Patience: dbfile.BusyTimeout,
		Committed: func(writes int) { s.commits.Observe(float64(writes)) },
	}
	u.pool, u.dialect, u.commits, u.Replaced, u.TempPrefix = s, sqliteDialect{}, s.commits, s.replaced, path+spoolName
	u.batchTime = dbfile.BusyTimeout // a batch holds the one writer, and others wait as long
	defer func() {
		if err != nil && s.writer != nil {
			dbfile.Close(s.writer)
		}
	}()
	if u.table, err = s.prepare(ctx, d); err != nil && ctx.Err() != nil {
		return 0, fmt.Errorf("stopped while another program held the lock of %s: %w", d.Path, ctx.Err())
	}
	var left []string
	if err == nil {
		left, err = leftOfIndex(s.writer)
	}
	if len(left) > 0 && !u.table.indexed {
		d.Logger.Warn("searches look at every user: users_search is another version's, for other fields, or damaged, so that "+
			"writes fail, too", "help", "run `users-api index-search`, which makes it anew")
	}
	if err == nil {
		if err = removeTempFiles(u.TempPrefix); err != nil {
			err = fmt.Errorf("cannot remove what a program that was killed has left behind: %w", err)
		}
	}
	if err == nil {
		err = s.connect(d.Path)
	}
	return maxReaders - 1, dbfile.Explain(d.Path, err)
}

// prepare makes the file a database in WAL mode with the tables of this program, through the writer, and looks at them. It
// waits for locks: also for that of another process that prepares the same file, for which SQLite returns "locked" without
// waiting.
func (s *sqlitePool) prepare(ctx context.Context, d Location) (t table, err error) {
	ctx, cancel := context.WithTimeout(ctx, dbfile.BusyTimeout)
	defer cancel()
	for {
		file, err := findFile(s.path)
		if err != nil {
			return t, err
		}
		if s.writer, err = openPool(s.path, s.fields, 1, pragmas(busyTick)); err == nil {
			err = s.writer.Transaction(func(tx *gorm.DB) (err error) {
				t, err = d.prepare(tx, sqliteDialect{})
				return err
			})
		}
		isSame := file.isSameFile() // otherwise a restore has replaced it meanwhile
		if isSame && (err == nil || dbfile.PrimaryCode(err) != sqlite3.SQLITE_BUSY) || ctx.Err() != nil {
			return t, cmp.Or(err, ctx.Err())
		}
		if s.writer != nil {
			dbfile.Close(s.writer)
		}
		_ = sleep(ctx, busyTick/5)
	}
}

// openPool opens a pool with all its connections: the service may run out of file descriptors later.
func openPool(path string, fields models.Fields, size int, pragmas []string) (*gorm.DB, error) {
	if err := registerFunctions(); err != nil {
		return nil, err
	}
	db, err := dbfile.Open(path, dbfile.ReadWrite, pragmas...)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err = cmp.Or(err, addColumns(db, fields)); err != nil {
		return db, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	for range size {
		conn, err := pool.Conn(context.Background())
		if err != nil {
			return db, err
		}
		defer conn.Close() //nolint:errcheck // it goes back to the pool
	}
	return db, nil
}

// connect opens the pools that read, and reads back the settings that promises depend on: SQLite ignores a misspelt pragma
// without an error.
func (s *sqlitePool) connect(name string) (err error) {
	if s.readers, err = openPool(s.path, s.fields, maxReaders, pragmas(dbfile.BusyTimeout)); err == nil {
		s.fresh, err = openPool(s.path, s.fields, 1, pragmas(dbfile.BusyTimeout))
	}
	if err != nil {
		return err
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "secure_delete": "1"} {
		got := ""
		if err := s.writer.Raw("PRAGMA " + pragma).Row().Scan(&got); err != nil || got != want {
			return cmp.Or(err, fmt.Errorf("SQLite runs with %s = %s, and not with %s", pragma, got, want))
		}
	}
	var failed [3]error
	s.database, failed[0] = findFile(name)
	s.wal, failed[1] = findFile(s.path + "-wal")
	s.shm, failed[2] = findFile(s.path + "-shm")
	if err = cmp.Or(failed[:]...); err != nil {
		return fmt.Errorf("cannot look at its files: %w", err)
	}
	go func() { // an idle service, too, must notice that another has taken them
		for sleep(s.ended, time.Second) == nil {
			_ = s.checkFiles()
		}
	}()
	return nil
}

// write lets the writes that wait share a transaction, which is that of share.
func (s *sqlitePool) write(ctx context.Context, run write) error { return s.group.Do(ctx, run) }

// transaction calls run in a transaction, after it has waited for others and for the locks of other programs.
func (s *sqlitePool) transaction(ctx context.Context, since time.Time, run func(tx *gorm.DB) error) (err error) {
	select {
	case s.writeLock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		if sizeOf(s.wal.path) > walLimit && time.Since(s.truncated) > time.Second { // in vain while another program reads
			s.writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
			s.truncated = time.Now()
		}
		<-s.writeLock
	}()
	if since.Before(s.imported) {
		since = s.imported
	}
	for began := false; !began; {
		err = s.writer.Transaction(func(tx *gorm.DB) error {
			began = true
			return run(tx)
		})
		switch {
		case began:
		case dbfile.PrimaryCode(err) != sqlite3.SQLITE_BUSY || s.ended.Err() != nil || time.Since(since) > dbfile.BusyTimeout:
			return err // SQLite has waited for busyTick
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
	if err != nil {
		s.writer.Exec("ROLLBACK") // database/sql forgets a transaction whose COMMIT failed
	}
	return err
}

// share is the Transact of the group: it begins a transaction, calls run, which carries out the writes that wait, and stores
// the entries of all of them together.
func (s *sqlitePool) share(ctx context.Context, since time.Time, run func(tx *gorm.DB) ([]models.Change, error)) error {
	return s.transaction(ctx, since, func(tx *gorm.DB) error { return write(run).carryOut(tx, sqliteDialect{}) })
}

func (s *sqlitePool) batch(ctx context.Context, run func(tx *gorm.DB) error) error {
	err := s.transaction(ctx, time.Now(), run)
	if err == nil {
		s.commits.Observe(1)
	}
	return err
}

// largeCache: 1,000,000 users with random emails are imported in half the time that SQLite's own 2 MB need; 64 MB are no
// faster, and take 34 MiB more.
const largeCache = "cache_size(-48000)"

// importing runs a long transaction with a large page cache. Writes that arrive meanwhile wait for its end.
func (s *sqlitePool) importing(ctx context.Context, run func(tx *gorm.DB) error) error {
	err := s.transaction(ctx, time.Now(), func(tx *gorm.DB) error {
		defer func() { s.imported = time.Now() }()
		err := tx.Exec("PRAGMA " + largeCache).Error
		if err == nil {
			err = run(tx.WithContext(ctx))
		}
		return cmp.Or(err, ctx.Err())
	})
	// Otherwise the cache would stay large, and the -wal file as large as what was written.
	s.writer.Exec("PRAGMA cache_size = -2000; PRAGMA shrink_memory; PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// read runs reads on any connection. A context would cost two goroutines for each statement.
func (s *sqlitePool) read(_ context.Context, run func(db *gorm.DB) error) error {
	return run(s.readers)
}

func (s *sqlitePool) snapshot(ctx context.Context, run func(tx *gorm.DB) error) error {
	tx := s.readers.Begin(&sql.TxOptions{ReadOnly: true})
	if tx.Error != nil {
		return tx.Error
	}
	defer tx.Rollback()
	return run(tx.WithContext(ctx))
}

// state is what a connection sees of the commits of all others. It never waits.
func (s *sqlitePool) state(context.Context) (version string, err error) {
	err = s.fresh.Raw("PRAGMA data_version").Row().Scan(&version)
	return version, err
}

func (s *sqlitePool) measure(context.Context) (database, wal int64, lag time.Duration) {
	return sizeOf(s.database.path), sizeOf(s.wal.path), 0
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// close moves everything into the one database file and closes it. The connections of a lost file are left open: SQLite
// would delete the -wal file by its name, which may be another database's by now. So the names are checked at the end
// again, when SQLite has nothing left to do that takes time.
func (s *sqlitePool) close(context.Context) error {
	s.writeLock <- struct{}{}
	if err := s.checkFiles(); err != nil {
		return err
	}
	dbfile.Close(s.fresh)
	dbfile.Close(s.readers)
	s.writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)") // another program may be reading: its close does the rest
	if err := s.checkFiles(); err != nil {
		return err
	}
	s.looking.Lock()                              // for ever: closed files are not looked at
	s.writer.Exec("PRAGMA journal_mode = DELETE") // so that a copy of the file is seen to be one: dbfile.SetAsideForeignWAL
	dbfile.Close(s.writer)
	return nil
}

// changeSQLite opens the database file beside running services, and changes the schema in one transaction. Afterwards that
// is on disk, or nothing was changed.
func (d Location) changeSQLite(ctx context.Context, change func(tx *gorm.DB, dialect dialect) error) error {
	if _, err := os.Stat(d.Path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no database %s: start the service, which makes it with the fields in USER_FIELDS, or set "+
			"DATA_DIR to the directory that the service uses", d.Path)
	}
	path := dbfile.FollowLinks(d.Path)
	if err := mayWrite(path); err != nil {
		return err
	}
	db, err := openPool(path, d.Fields, 1, pragmas(dbfile.BusyTimeout))
	if err != nil {
		return dbfile.Explain(d.Path, err)
	}
	defer dbfile.Close(db)
	err = db.Transaction(func(tx *gorm.DB) error {
		err := change(tx.WithContext(ctx), sqliteDialect{})
		return cmp.Or(err, ctx.Err()) // the driver may end without an error when the context does
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case dbfile.PrimaryCode(err) == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("nothing was changed, because another program held the lock for more than %s, as the service does "+
			"during an import: try again afterwards", dbfile.BusyTimeout)
	}
	shown, _ := sqliteDialect{}.classify(err)
	return shown
}
