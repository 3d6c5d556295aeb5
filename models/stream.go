package models

import (
	"context"
	"iter"

	"gorm.io/gorm"
)

// A page of the list is at most so many users, or a little more than so many bytes. It takes about 1 ms to read.
const (
	pageUsers = 2000
	pageBytes = 256 << 10
)

// Stream returns all users as the pieces of one JSON array, for a list that is too large to be kept. Each piece is
// valid until the next is asked for. An error is the last thing that comes.
//
// Between two pieces nothing is held but the piece: no connection and no transaction, however slowly it is sent. Each
// is a look of its own at the database, so a user that is there throughout is listed once, and one that is created or
// deleted meanwhile may be.
func (u *Users) Stream(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total := 0
		for piece, err := range pieces(u.db.WithContext(ctx), nil) {
			if err != nil && u.closed.Load() {
				err = ErrClosed // the pool's own words would be of Go
			}
			total += len(piece)
			if !yield(piece, err) {
				return
			}
		}
		u.keeper.seen(total)
	}
}

// pieces reads all users page by page, by their ids, as the pieces of one JSON array. They are built in buffer, which
// grows as it must.
func pieces(db *gorm.DB, buffer []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		users := db.Model(&User{}).Order("users.id").Limit(pageUsers).Session(&gorm.Session{})
		buffer = append(buffer[:0], '[')
		for query := users; ; {
			page, err := readUsers(query, buffer)
			if err != nil {
				yield(nil, err)
				return
			}
			if page.last {
				page.json = append(page.json, ']')
			}
			if !yield(page.json, nil) || page.last {
				return
			}
			query = users.Where("users.id > ?", page.lastID).Session(&gorm.Session{})
			buffer = page.json[:0]
		}
	}
}
