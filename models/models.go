// Package models holds the user and the contract that storage implements. It imports no engine and knows nothing of
// HTTP.
//
// A storage engine implements [Users] in its own package below this one; storetest is the test suite that every engine
// passes. What all engines need is written here once: the record, its JSON, its times, and the errors.
package models

import (
	"context"
	"iter"
)

// Users is the table of users in a storage engine. Many goroutines may call its methods at once.
//
// A method that writes returns nil only after the commit of its write is on disk. A method that reads sees every commit
// that was complete when it was called, by this process or any other.
//
// An error is [ErrNotFound], the error of a [Condition], the context's, or a [*StorageError]. The context ends the wait
// for a place in the queue; a write that has a place is carried out, and its outcome is returned.
type Users interface {
	// Create stores a user and returns its id.
	Create(ctx context.Context, user NewUser) (id int64, err error)

	// Get returns the user with the id.
	Get(ctx context.Context, id int64) (User, error)

	// Change changes the user with the id, and returns the user as stored after the change.
	Change(ctx context.Context, id int64, change Values, allow Condition) (User, error)

	// Delete removes the user with the id.
	Delete(ctx context.Context, id int64, allow Condition) error

	// Select returns the users that a query selects, in its order, in pages of bounded size. An error ends the
	// sequence. Nothing is held between two pages, however slowly the caller takes them: a user that exists throughout
	// comes once, and one that is written meanwhile may come.
	Select(ctx context.Context, query Query) iter.Seq2[[]User, error]

	// Page returns the page of the list that a query selects if it is in memory, as of one moment. Otherwise it returns
	// nil, and Select reads the users.
	Page(ctx context.Context, query Query) (*Page, error)

	// Export calls send with the users that a query selects, all as of one moment, however slowly send takes them. It
	// returns what send returns, [ErrNoRoom], or an error as for every read.
	Export(ctx context.Context, query Query, send func(Export) error) error

	// Count returns how many users match a query, regardless of its Limit and After.
	Count(ctx context.Context, query Query) (int64, error)

	// List calls send with all users, and returns what send returns. The list stays valid until then.
	List(ctx context.Context, send func(List) error) error

	// Changes returns the entries of the feed after a cursor, at most limit of them; without a cursor, the oldest that are
	// kept. The error is [ErrNoFeed], [ErrCursorGone], or as for every read.
	Changes(ctx context.Context, after string, limit int) (Changes, error)

	// Cursor returns where the feed ends now, or "" if changes are not recorded.
	Cursor(ctx context.Context) (string, error)

	// AwaitChanges returns when there may be entries after a cursor.
	AwaitChanges(ctx context.Context, cursor string) error

	// Import stores the users of a file in one transaction: all of them, or none. It takes all rows before it locks
	// anything, however slowly they come. A [*RowError] among the rows refuses its row, and any other error ends the
	// import. The error is [*RefusedRows], [*TooManyDeletes], or as for every write. Until the commit begins, the end
	// of the context rolls everything back.
	Import(ctx context.Context, rows iter.Seq2[ImportRow, error], options ImportOptions) (Imported, error)

	// Replaced is closed when the storage was removed or replaced: from then on every write fails, and only a restart
	// helps.
	Replaced() <-chan struct{}

	// Close finishes the writes under way and closes the storage. The context ends their wait for a lock that another
	// program holds. Later calls fail with [ErrClosed]. Close returns [ErrReplaced] if the storage was removed or
	// replaced.
	Close(ctx context.Context) error
}

// A Condition is called in the transaction that writes, with the user as it is then. An error refuses the write. A nil
// Condition allows it. A Condition must not call [Users].
type Condition func(User) error

// Query says which users are selected. Its zero value selects all of them, by ascending id.
type Query struct {
	Equal      Values // the users that have exactly these values
	Contains   string // users of whom any field contains the text, whatever the case of its ASCII letters
	After      *int64 // if set, users that come after this id, in the order of the query
	Limit      int    // the maximum number of users; 0 selects all that match
	Descending bool   // the highest id first
	Count      bool   // an export counts the users that match, too
}

// Export is the result of a query, as of one moment.
type Export struct {
	Total  int64                  // how many users match, regardless of Limit and After, if the query's Count is set
	Last   *int64                 // the id of the last user within the query's Limit, if others follow
	Cursor string                 // of the feed, at that moment; "" if changes are not recorded
	Users  iter.Seq2[User, error] // in order; an error ends the sequence
}

// Page is a part of all users at one moment, as one JSON array.
type Page struct {
	JSON   []byte
	Users  int    // how many are in it
	Last   int64  // the id of the last of them
	More   bool   // others follow
	Total  int64  // how many users there are
	Cursor string // of the feed, at that moment; "" if changes are not recorded
}

const (
	// UserBytes is the most that nearly all users need as JSON.
	UserBytes = 128
	// PageBytes is how much of a page is held until its end, because its headers say whether more users follow: 1,000
	// users, unless their names are long.
	PageBytes = 1000 * UserBytes
)

// List is all users at one moment, by ascending id, as one JSON array.
type List struct {
	// Version identifies the bytes of the array: the same users have the same version, even after a restart. It is
	// empty if the array is not known before it is read to its end.
	Version string
	Cursor  string // of the feed, where the array ends; "" if changes are not recorded or Version is empty
	Length  int    // the size of the array in bytes, or -1 if Version is empty
	// Chunks are the array in order. Each chunk is valid until the next is requested. An error ends the sequence, and
	// the array is then incomplete.
	Chunks iter.Seq2[[]byte, error]
}
