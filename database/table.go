package database

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"users-api/models"
)

// table is what must be known about the table users, which another program may have created. Each column in unique has
// a unique index of its own, of all values or of those that are not empty.
type table struct {
	fields       models.Fields // as the table has them: updated_at may be a time or a text
	columns      []string
	unique       []string
	ignoresCase  bool // the unique index of the email ignores the case of ASCII letters
	triggers     bool // triggers of other programs, also on the feed, may change, ignore or undo what is written
	writtenTwice bool // a trigger of this program writes a user again, for updated_at, after the statement has returned it
	feed         bool // changes are recorded
	indexed      bool // searches have an index
	at           time.Time
}

const describeEvery = time.Second

// catalog knows what the table users is, as of the last two seconds: another program may change it at any time.
type catalog struct {
	dialect dialect
	fields  models.Fields
	known   atomic.Pointer[table]
	asking  sync.Mutex // held while the database is asked
}

// table returns what the table is, or why it cannot be served.
func (c *catalog) table(db *gorm.DB) (table, error) {
	known := c.known.Load()
	if known != nil && time.Since(known.at) < describeEvery {
		return *known, nil
	}
	if c.asking.TryLock() {
		defer c.asking.Unlock()
	} else if known != nil && time.Since(known.at) < 2*describeEvery {
		return *known, nil // another request asks: it takes some milliseconds on PostgreSQL
	}
	return c.describe(db)
}

// describe asks the database what the table is now.
func (c *catalog) describe(db *gorm.DB) (table, error) {
	began := time.Now()
	described, err := c.dialect.describe(db, c.fields)
	described.at = began
	switch known := c.known.Load(); {
	case err != nil:
		c.known.Store(nil)
	case known == nil || known.at.Before(began): // otherwise another has asked since
		c.known.CompareAndSwap(known, &described)
	}
	return described, err
}

// table is what the catalog knows, for a caller that has no connection.
func (u *Users) table(ctx context.Context) (t table, err error) {
	err = u.read(ctx, func(db *gorm.DB) (err error) {
		t, err = u.catalog.table(db)
		return err
	})
	return t, err
}

// Fields returns the fields of a user, as the table had them when it was opened.
func (u *Users) Fields() models.Fields { return u.fields }

// Uniqueness returns the names of the fields of which no two users have the same value, and whether emails that differ
// only in the case of ASCII letters are the same.
func (u *Users) Uniqueness(ctx context.Context) (unique []string, ignoresCase bool, err error) {
	t, err := u.table(ctx)
	return t.unique, t.ignoresCase, err
}

// createTable creates the table users unless that name exists, and what sets updated_at if it has that. AutoMigrate would
// change an existing table on any difference.
func createTable(tx *gorm.DB, exists string, fields models.Fields, setUpdatedAt func(tx *gorm.DB) error) error {
	var n int64
	if err := tx.Raw(exists).Scan(&n).Error; err != nil || n > 0 {
		return err
	}
	err := tx.Migrator().CreateTable(&models.User{})
	if err == nil && fields.IsTime(models.UpdatedAt) {
		err = setUpdatedAt(tx)
	}
	return err
}
