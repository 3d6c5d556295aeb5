package sqlite

import (
	"context"
	"iter"

	"users-api/models"
	"users-api/models/listcache"
)

// listSource is where the cached list is read from. It implements [listcache.Source]. PRAGMA data_version tells in 6 µs
// whether any connection of any process has committed, on a connection that itself never writes.
type listSource struct {
	conn        *connection
	writer      *writer
	dataVersion int64 // of conn when the last transaction began
	schema      int64 // of the table in that transaction
	cursor      string
}

func newListSource(path string, queries *queries, writer *writer) (*listSource, error) {
	conn, err := queries.connect(path)
	return &listSource{conn: conn, writer: writer}, err
}

// Unchanged reports whether data_version is unchanged.
func (s *listSource) Unchanged(context.Context) (bool, error) {
	version, err := s.conn.DataVersion() // this never waits
	return version == s.dataVersion, err
}

// Transaction begins a read transaction between two commits of this process.
func (s *listSource) Transaction(ctx context.Context, read func(listcache.Changes) error) error {
	defer func() { _, _ = s.conn.Exec(rollBack) }() // it only reads
	since, err := s.writer.beginSnapshot(s.begin)
	if err != nil {
		return err
	}
	return s.conn.Until(ctx, func() error {
		if since, err = s.sinceInFeed(since); err != nil {
			return err
		}
		return read(since)
	})
}

// sinceInFeed returns what was committed since the last transaction, by any program, if the feed tells. Otherwise it returns
// what the writer knows.
func (s *listSource) sinceInFeed(known listcache.Changes) (listcache.Changes, error) {
	before, schema := s.cursor, s.schema
	var err error
	if s.cursor, err = s.conn.cursor(); err != nil {
		return known, err
	}
	if s.schema = s.conn.table.schema; s.cursor == "" || schema != s.schema {
		return known, nil
	}
	return s.conn.changedSince(before)
}

// Cursor returns where the feed ended when the last transaction began.
func (s *listSource) Cursor() string { return s.cursor }

// begin begins a read transaction that sees the commits that data_version counts, and none after.
func (s *listSource) begin() (err error) {
	if _, err = s.conn.Exec(beginRead); err == nil {
		err = s.conn.checkTable()
	}
	if err == nil {
		s.dataVersion, err = s.conn.DataVersion()
	}
	return err
}

// All returns every user, page by page.
func (s *listSource) All() iter.Seq2[models.User, error] {
	return s.conn.users(models.Query{})
}

// Range returns the users whose ids are at least from and at most to.
func (s *listSource) Range(from, to int64) iter.Seq2[models.User, error] {
	return s.conn.readRange(from, to)
}
