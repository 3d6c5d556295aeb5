// Package models holds the user and the contract that storage keeps. It imports no engine and knows nothing of HTTP.
//
// A storage engine implements [Users], in a package of its own below this one; storetest is the suite of tests that
// every engine passes. What all engines need is written here once: the record, its JSON, its times, and the errors.
package models

import (
	"context"
	"iter"
)

// Users is the table of users in a storage engine. Its methods may be called by many goroutines at once.
//
// A method that writes returns nil only after the commit that holds its work is on disk. A method that reads sees every
// commit that was complete when it was called, of this process and of any other.
//
// An error is [ErrNotFound], what a [Condition] returned, the context's, or a [*StorageError]. The context ends the
// wait for a place in the queue; a write that has its place is done, and its outcome is returned.
type Users interface {
	// Create stores a user and returns its id.
	Create(ctx context.Context, user NewUser) (id int64, err error)

	// Get returns the user with the id.
	Get(ctx context.Context, id int64) (User, error)

	// Change changes the user with the id, and returns the user as it is stored then.
	Change(ctx context.Context, id int64, change Change, allow Condition) (User, error)

	// Delete removes the user with the id.
	Delete(ctx context.Context, id int64, allow Condition) error

	// Select returns the users that a query asks for, in its order, in pages of bounded size. An error is the last thing
	// that comes. Nothing is held between two pages, however slowly they are taken: a user that is there throughout comes
	// once, and one that is written meanwhile may come.
	Select(ctx context.Context, query Query) iter.Seq2[[]User, error]

	// Export calls send with the users that a query asks for, all as they are at one moment, however slowly they are
	// taken. What send returns is returned. The error is [ErrNoRoom], or as for every read.
	Export(ctx context.Context, query Query, send func(Export) error) error

	// Count returns how many users match a query, whatever its Limit and After.
	Count(ctx context.Context, query Query) (int64, error)

	// List calls send with all users. The list holds until send returns, and what send returns is returned.
	List(ctx context.Context, send func(List) error) error

	// Import stores the users of a file: all of them in one transaction, or none. The rows are taken before anything is
	// locked, however slowly they come. An error that is a [*RowError] refuses its row, and any other ends the import.
	// The error is [*RefusedRows], [*TooManyDeletes], or as for every write; until the commit begins, the end of the
	// context takes everything back.
	Import(ctx context.Context, rows iter.Seq2[ImportRow, error], options ImportOptions) (Imported, error)

	// Replaced is closed when the storage was taken away: every write fails from then on, and only another start helps.
	Replaced() <-chan struct{}

	// Close finishes the writes under way and closes the storage. The context ends their wait for a lock that another
	// program holds. What is called later fails with [ErrClosed]. Close returns [ErrReplaced] once the storage was taken away.
	Close(ctx context.Context) error
}

// A Condition is asked in the transaction that writes, with the user as it is then. An error refuses the write. A nil
// Condition allows it. It must not call [Users].
type Condition func(User) error

// Query says which users are asked for. Its zero value asks for all of them, by ascending id.
type Query struct {
	// Email, where set, asks for the user with exactly this email.
	Email *string
	// Contains asks for users whose name or email contains the text. The case of ASCII letters does not matter.
	Contains string
	// After, where set, asks for users that come after this id, in the order asked for.
	After *int64
	// Limit is how many users are returned at most; 0 returns all that match.
	Limit int
	// Descending asks for the highest id first.
	Descending bool
	// Count asks an export for how many users match as well.
	Count bool
}

// Export is what a query asks for, as it is at one moment.
type Export struct {
	// Total is how many users match, whatever the query's Limit and After, if its Count asks for that.
	Total int64
	// Last is the id of the last user within the query's Limit, where others follow.
	Last *int64
	// Users are the users in order. An error is the last thing that comes.
	Users iter.Seq2[User, error]
}

// List is every user at one moment, by ascending id, as one JSON array.
type List struct {
	// Version identifies the bytes of the array: the same users have the same version, after a restart too. It is
	// empty when the array is not known before it is read to its end.
	Version string
	// Length is how many bytes the array has; -1 when Version is empty.
	Length int
	// Chunks are the array in order. Each is valid until the next is asked for. An error is the last thing that comes,
	// with what came before it incomplete.
	Chunks iter.Seq2[[]byte, error]
}
