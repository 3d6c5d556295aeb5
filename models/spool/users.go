package spool

import (
	"context"
	"errors"
	"iter"

	"users-api/models"
)

// Users returns the users that copyTo adds, as fast as it can, while they are taken. A slow reader would otherwise hold a
// transaction open for as long as it likes. The context of copyTo ends when nobody takes them any more.
func (a *Area) Users(ctx context.Context, copyTo func(context.Context, *Spool) error) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		copied, copying := a.New(), make(chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			defer close(copying)
			copied.end(copyTo(ctx, copied))
		}()
		defer copied.Close()
		defer func() { cancel(); <-copying }()
		for row, err := range copied.records() {
			user := models.User{ID: row.number, CreatedAt: row.texts[2]}
			user.Name, user.Email = row.texts[0], row.texts[1]
			if !yield(user, err) {
				return
			}
		}
	}
}

// AddUser adds a user. An error is of the disk.
func (s *Spool) AddUser(user *models.User) error {
	return s.add(record{user.ID, [3]string{user.Name, user.Email, user.CreatedAt}})
}

// Receive adds the rows of a file as they arrive, and returns those that could not be read and how many there are in all.
// An error is not of a row.
func (s *Spool) Receive(rows iter.Seq2[models.ImportRow, error]) (bad models.RefusedRows, err error) {
	for row, err := range rows {
		refusal, isRow := errors.AsType[*models.RowError](err)
		if err != nil && !isRow {
			return bad, err
		}
		if bad.All++; isRow {
			bad.Add(refusal)
			continue
		}
		if err := s.add(record{int64(row.Line), [3]string{row.User.Name, row.User.Email}}); err != nil {
			return bad, err
		}
	}
	s.end(nil)
	return bad, nil
}

// Rows yields the rows that were received, in order. An error is the last thing that comes.
func (s *Spool) Rows() iter.Seq2[models.ImportRow, error] {
	return func(yield func(models.ImportRow, error) bool) {
		for row, err := range s.records() {
			user := models.NewUser{Name: row.texts[0], Email: row.texts[1]}
			if !yield(models.ImportRow{Line: int(row.number), User: user}, err) {
				return
			}
		}
	}
}
