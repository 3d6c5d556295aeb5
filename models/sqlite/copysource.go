package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// CopySource is a database whose users move elsewhere. It is read in one transaction, and nothing is written to it, not
// even what SQLite writes when it closes a file.
type CopySource struct {
	// Count is how many users there are, and Highest is the highest id ever given.
	Count, Highest int64
	// Left are the columns that are not copied, because they are not in the table of fields.
	Left []string

	path   string
	conn   *connection
	before [2]written
	closed bool
}

// written identifies one state of a file.
type written struct {
	bytes int64
	at    time.Time
}

// OpenCopySource opens the database at path, which nothing else may use: what a service stores meanwhile would not
// move.
func OpenCopySource(path string, fields models.Fields) (*CopySource, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no database %s: set DATA_DIR to the directory that the service uses", path)
	}
	path, err := dbfile.FollowLinks(path) // SQLite's other files are beside the target
	if err == nil {
		err = dbfile.ExpectUnused(path)
	}
	if err == nil {
		err = dbfile.ExpectNoHotJournal(path)
	}
	if err != nil {
		return nil, err
	}
	queries, err := newQueries(fields)
	if err != nil {
		return nil, err
	}
	before := look(path)
	conn, err := dbfile.Open(path, copySourceMode(path))
	if err != nil {
		return nil, explainCopySource(path, err)
	}
	o := &CopySource{path: path, before: before, conn: &connection{Connection: conn, queries: queries}}
	if err := o.begin(); err != nil {
		o.conn.Close()
		return nil, explainCopySource(path, err)
	}
	return o, nil
}

// copySourceMode returns the mode in which nothing is written. If a killed service left a -wal file, it holds some of the
// users: then SQLite creates a -shm file to read both.
func copySourceMode(path string) dbfile.Mode {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return dbfile.ReadOnly
	}
	return dbfile.Immutable
}

func explainCopySource(path string, err error) error {
	if code := dbfile.PrimaryCode(err); code == dbfile.CodeNotADB || code == dbfile.CodeCorrupt {
		return dbfile.Explain(path, err)
	}
	return fmt.Errorf("cannot read the database %s: %w", path, err)
}

// expectTable returns an error if the table cannot be served. A column is added to the file only while DATABASE_URL, which
// a copy needs, is not set.
func (o *CopySource) expectTable() error {
	err := o.conn.checkTable()
	if err != nil && o.conn.expectAdded() != nil {
		err = fmt.Errorf("%w; for this file, run that without DATABASE_URL", err)
	}
	return err
}

// begin begins the transaction and counts the users.
func (o *CopySource) begin() error {
	_, err := o.conn.Exec(beginRead)
	if err == nil {
		err = o.expectTable()
	}
	if err == nil {
		o.Left, err = o.left()
	}
	if err == nil {
		o.Count, err = o.conn.count(models.Query{})
	}
	if err == nil {
		o.Highest, _, err = o.conn.Number(o.conn.HighestID)
	}
	if err != nil {
		return err
	}
	given, _, err := o.conn.Number(highestGiven)
	if err == nil { // an error means that there is no such table: then ids are not remembered
		o.Highest = max(o.Highest, given)
	}
	return nil
}

func (o *CopySource) left() ([]string, error) {
	columns, err := o.conn.columns()
	copied := o.conn.fields.Columns()
	return slices.DeleteFunc(columns, func(name string) bool { return slices.Contains(copied, models.LowerASCII(name)) }), err
}

// Users returns all users, by ascending id.
func (o *CopySource) Users() iter.Seq2[models.User, error] {
	return o.conn.users(models.Query{})
}

// Finish closes the database, and returns an error if another process has opened or written it meanwhile.
func (o *CopySource) Finish() error {
	o.Close()
	if err := dbfile.ExpectUnused(o.path); err != nil {
		return err
	}
	if look(o.path) != o.before {
		return fmt.Errorf("the database %s was written meanwhile: stop the service, and try again", o.path)
	}
	return nil
}

// Close closes the database. It may be closed already.
func (o *CopySource) Close() {
	if !o.closed {
		o.closed = true
		o.conn.Close()
	}
}

// look returns the state of the files that SQLite writes to.
func look(path string) (files [2]written) {
	for i, ending := range []string{"", "-wal"} {
		if info, err := os.Stat(path + ending); err == nil && info.Size() > 0 {
			files[i] = written{info.Size(), info.ModTime()}
		}
	}
	return files
}
