// Package failing lets statements of a database fail, one after the other, for tests that an error is passed on. It needs
// nothing of the program: the statement is refused by SQLite, or replaced on its way to PostgreSQL, whoever sends it, and
// what the program sees is an error of the database.
package failing

import (
	"io"
	"sync"
	"sync/atomic"
)

// Statements are those of a database. Those that end a transaction without storing anything never fail, nor those whose failure
// no answer depends on.
type Statements struct {
	age    atomic.Int64 // how often connections were forgotten
	cut    atomic.Int64 // how many bytes PostgreSQL sends before a connection ends; 0 if none will
	mu     sync.Mutex
	left   int // up to the one that fails; 0 if none will
	failed string
}

// Write takes what PostgreSQL sends, and ends one connection.
func (s *Statements) Write(bytes []byte) (int, error) {
	if size := int64(len(bytes)); s.cut.Load() > 0 && s.cut.Add(-size) <= 0 {
		s.cut.Store(0)
		return 0, io.ErrClosedPipe
	}
	return len(bytes), nil
}

// Cut ends the connection on which PostgreSQL sends the n-th byte from now on, in the middle of an answer.
func (s *Statements) Cut(n int64) { s.cut.Store(n) }

// Fail lets the n-th statement from now on fail.
func (s *Statements) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.failed = n, ""
}

// Forget lets everything vanish that is sent to PostgreSQL on the connections of now, as behind a NAT that has forgotten them.
func (s *Statements) Forget() { s.age.Add(1) }

// End lets nothing fail any more, and returns the statement that has failed, or "" if there were fewer.
func (s *Statements) End() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = 0
	return s.failed
}

// next is called with each statement, and reports whether it fails.
func (s *Statements) next(statement string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return false
	}
	if s.left--; s.left == 0 {
		s.failed = statement
	}
	return s.left == 0
}
