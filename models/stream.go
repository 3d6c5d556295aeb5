package models

import (
	"context"
	"iter"

	"gorm.io/gorm"
)

// A streamed list is read in pages of at most so many users, or a little more than so many bytes.
const (
	pageUsers = 1000 // takes about 1 ms
	pageBytes = 256 << 10
)

// Stream returns all users as the pieces of one JSON array, for a list that is too large to be kept. Each piece is
// valid until the next is asked for. An error is the last thing that comes.
//
// Between two pieces nothing is held but the piece: no connection and no transaction, however slowly it is sent. Each
// page is a look of its own at the database, so a user that is there throughout is listed once, and one that is
// created or deleted meanwhile may be.
func (u *Users) Stream(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		users := ordered(u.db.WithContext(ctx)).Limit(pageUsers).Session(&gorm.Session{})
		piece, total := []byte{'['}, 0
		for query := users; ; {
			page, err := readPage(query, piece)
			if err != nil && u.closed.Load() {
				err = ErrClosed // the pool's own words would be of Go
			}
			if err != nil {
				yield(nil, err)
				return
			}
			total += len(page.json)
			if page.complete {
				u.keeper.seen(total)
			}
			if !yield(page.json, nil) || page.complete {
				return
			}
			query = users.Where("users.id > ?", page.lastID).Session(&gorm.Session{})
			piece = page.json[:0]
		}
	}
}

// readPage appends one page of the list to piece, and the end of the list to the last one.
func readPage(query *gorm.DB, piece []byte) (page, error) {
	p, err := readUsers(query, piece, pageBytes)
	if p.complete = p.complete && p.count < pageUsers; p.complete {
		p.json = append(p.json, ']')
	}
	return p, err
}
