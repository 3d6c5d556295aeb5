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
		for page, err := range pages(ordered(u.db.WithContext(ctx)), []byte{'['}) {
			if err != nil && u.closed.Load() {
				err = ErrClosed // the pool's own words would be of Go
			}
			if page.last {
				page.json = append(page.json, ']')
			}
			total += len(page.json)
			if !yield(page.json, err) {
				return
			}
		}
		u.keeper.seen(total)
	}
}

// ordered is the users in the order of the list.
func ordered(db *gorm.DB) *gorm.DB {
	return db.Model(&User{}).Order("users.id").Limit(pageUsers).Session(&gorm.Session{})
}

// after is the users of a query that come after one.
func after(users *gorm.DB, id int64) *gorm.DB {
	return users.Where("users.id > ?", id).Session(&gorm.Session{})
}

// pages reads users page by page, by their ids. The first is appended to buffer, which is used again for the others
// and grows as it must.
func pages(users *gorm.DB, buffer []byte) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		for query := users; ; {
			p, err := readUsers(query, buffer)
			if !yield(p, err) || err != nil || p.last {
				return
			}
			query, buffer = after(users, p.lastID), p.json[:0]
		}
	}
}
