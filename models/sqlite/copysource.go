package sqlite

import (
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"time"

	"users-api/models"
)

// CopySource is a database whose users move elsewhere. It is read in one transaction, and nothing is written to it, not
// even what SQLite writes when it closes a file.
type CopySource struct {
	// Count is how many users there are, and Highest is the highest id ever given.
	Count, Highest int64

	path    string
	conn    connection
	queries *queries
	before  [2]written
	closed  bool
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
	path, err := followLinks(path) // SQLite's other files are beside the target
	if err == nil {
		err = expectUnused(path)
	}
	if err == nil {
		err = expectNoHotJournal(path)
	}
	if err != nil {
		return nil, err
	}
	o := &CopySource{path: path, before: look(path)}
	if o.queries, err = newQueries(fields); err != nil {
		return nil, err
	}
	if o.conn, err = openConnection(copySourceURL(path)); err != nil {
		return nil, explainCopySource(path, err)
	}
	if err := o.begin(); err != nil {
		o.conn.close()
		return nil, explainCopySource(path, err)
	}
	return o, nil
}

// copySourceURL returns a URL with which SQLite takes no locks and creates no files beside the database. If a killed
// service left a -wal file, it holds some of the users: then the URL opens the database read-only, and SQLite creates a
// -shm file to read both.
func copySourceURL(path string) string {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return fileURL(path, url.Values{"mode": {"ro"}})
	}
	return copySource(path)
}

func explainCopySource(path string, err error) error {
	if primaryCode(err) == codeNotADB || primaryCode(err) == codeCorrupt {
		return explain(path, err)
	}
	return fmt.Errorf("cannot read the database %s: %w", path, err)
}

// begin begins the transaction and counts the users.
func (o *CopySource) begin() error {
	_, err := o.conn.exec("BEGIN DEFERRED")
	if err == nil {
		_, err = o.queries.users(o.conn)
	}
	if err == nil {
		o.Count, err = o.queries.count(o.conn, models.Query{})
	}
	if err == nil {
		o.Highest, _, err = o.conn.number(o.queries.HighestID)
	}
	if err != nil {
		return err
	}
	given, _, err := o.conn.number("SELECT max(seq) FROM sqlite_sequence WHERE name = 'users' COLLATE NOCASE")
	if err == nil { // an error means that there is no such table: then ids are not remembered
		o.Highest = max(o.Highest, given)
	}
	return nil
}

// Users returns all users, by ascending id.
func (o *CopySource) Users() iter.Seq2[models.User, error] {
	return models.Each(o.queries.pages(models.Query{}, func(read func(connection) error) error { return read(o.conn) }))
}

// Finish closes the database, and returns an error if another process has opened or written it meanwhile.
func (o *CopySource) Finish() error {
	o.Close()
	if err := expectUnused(o.path); err != nil {
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
		o.conn.close()
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
