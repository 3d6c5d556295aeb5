package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"

	"users-api/models"
)

// Export calls send with the users that copyTo adds, which it adds as fast as it can while send takes them. Otherwise a
// slow reader would hold a transaction open. CopyTo copies the users that a query selects, and sets Cursor first,
// and Total if the query counts. Its context ends when send returns.
//
// If there is a limit, copyTo is asked for one more user, and send is called when all users are there: then it is known
// whether others follow.
func (a *Area) Export(ctx context.Context, query models.Query, copyTo func(context.Context, models.Query, *Spool) error,
	send func(models.Export) error) error {
	copied, copying := a.New(), make(chan struct{})
	if copied.limit = query.Limit; query.Limit > 0 {
		query.Limit++
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(copying)
		copied.end(copyTo(ctx, query, copied))
	}()
	defer copied.Close()
	defer func() { cancel(); <-copying }()
	if err := copied.awaitBegin(); err != nil {
		return err
	}
	return send(copied.export())
}

// awaitBegin waits until the Cursor, Total and Last of the export are final. It returns an earlier failure, which the
// response can still report.
func (s *Spool) awaitBegin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.ended && (s.size == 0 || s.limit > 0 || s.whole) {
		s.grown.Wait()
	}
	return s.err
}

func (s *Spool) export() models.Export {
	export := models.Export{Cursor: s.Cursor, Total: s.Total, Users: s.users()}
	if s.limit > 0 && s.added > s.limit {
		export.Last = &s.last
	}
	return export
}

// users yields the users that were added, up to the limit.
func (s *Spool) users() iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		var user models.User // outside of the loop, because accessors of fields make it escape
		read := 0
		for record, err := range s.records() {
			if err == nil {
				user.ID = record.number()
				record.values(s.in.fields, &user.NewUser)
				user.CreatedAt, _ = record.text()
			}
			if read++; !yield(user, err) || read == s.limit {
				return
			}
		}
	}
}

// Begin discards the users that were added. If the copy may begin again, send is called when all users are there.
func (s *Spool) Begin(mayAgain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discard()
	s.whole, s.added = mayAgain, 0
	s.file, s.size, s.taken, s.rest = nil, 0, 0, s.rest[:0]
}

// AddUser adds a user. An error is [models.ErrNoRoom], or of the disk.
func (s *Spool) AddUser(user *models.User) error {
	if s.added++; s.added == s.limit {
		s.last = user.ID
	}
	record := binary.AppendVarint(make([]byte, 0, 128), user.ID)
	record = appendValues(record, s.in.fields, &user.NewUser)
	return s.add(appendText(record, user.CreatedAt))
}

// Receive adds the rows of a file as they arrive, and returns the rows that could not be read, and how many rows there
// are in all. An error is not that of a single row.
func (s *Spool) Receive(rows iter.Seq2[models.ImportRow, error]) (bad models.RefusedRows, err error) {
	var row models.ImportRow // likewise
	for next, err := range rows {
		refusal, isRow := errors.AsType[*models.RowError](err)
		if err != nil && !isRow {
			return bad, err
		}
		if bad.All++; isRow {
			bad.Add(refusal)
			continue
		}
		row = next
		record := binary.AppendVarint(make([]byte, 0, 128), int64(row.Line))
		record = appendValues(record, s.in.fields, &row.User)
		if err := s.add(binary.AppendVarint(record, int64(row.Fields))); err != nil {
			return bad, err
		}
	}
	s.end(nil)
	return bad, nil
}

// Rows yields the received rows in order. An error ends the sequence.
func (s *Spool) Rows() iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		var row models.ImportRow // likewise
		for record, err := range s.records() {
			if err == nil {
				row.Line = int(record.number())
				record.values(s.in.fields, &row.User)
				row.Fields = models.FieldSet(record.number())
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
