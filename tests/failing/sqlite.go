package failing

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"users-api/tests/program"
)

// SQLite asks an authorizer before it compiles a statement, or a part of one such as that of a trigger
// (sqlite.org/c3ref/set_authorizer.html): whoever sends it, by whatever pool. What the authorizer denies is an error of SQLite.
// Each connection to a database gets one as SQLite opens it (sqlite.org/c3ref/auto_extension.html).
var authorizers struct {
	sync.Mutex
	once  sync.Once
	paths map[string]uintptr // the number of each database
	asked []*Statements      // by these numbers
}

// File returns the path of a SQLite file that does not exist yet, whose statements these are.
func File(t testing.TB, s *Statements) (path string) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir()) // SQLite does
	program.Must(t, err)
	path = filepath.Join(folder, "users.db")
	authorizers.Lock()
	defer authorizers.Unlock()
	authorizers.once.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		authorizers.paths = map[string]uintptr{}
		if sqlite3.Xsqlite3_auto_extension(tls, pointer(opened)) != sqlite3.SQLITE_OK {
			t.Fatal("SQLite calls nothing for each connection")
		}
	})
	authorizers.paths[path] = uintptr(len(authorizers.asked))
	authorizers.asked = append(authorizers.asked, s)
	return path
}

// pointer returns a function as SQLite, which was translated from C, calls it.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// opened is called for each connection that is opened.
func opened(tls *libc.TLS, db, _, _ uintptr) int32 {
	path := libc.GoString(sqlite3.Xsqlite3_db_filename(tls, db, 0))
	authorizers.Lock()
	defer authorizers.Unlock()
	if number, isKnown := authorizers.paths[path]; isKnown {
		return sqlite3.Xsqlite3_set_authorizer(tls, db, pointer(authorize), number)
	}
	return sqlite3.SQLITE_OK
}

// authorize is called for each part of each statement.
func authorize(_ *libc.TLS, number uintptr, action int32, first, second, _, _ uintptr) int32 {
	what := strings.TrimSpace(libc.GoString(first) + " " + libc.GoString(second))
	switch {
	case action == sqlite3.SQLITE_READ, action == sqlite3.SQLITE_FUNCTION, // of a statement that is counted already
		action == sqlite3.SQLITE_TRANSACTION && what == "ROLLBACK",
		// After a commit, these leave the files and the caches small.
		action == sqlite3.SQLITE_PRAGMA && (what == "cache_size -2000" || what == "shrink_memory"),
		action == sqlite3.SQLITE_PRAGMA && strings.HasPrefix(what, "wal_checkpoint"):
		return sqlite3.SQLITE_OK
	}
	authorizers.Lock()
	s := authorizers.asked[number]
	authorizers.Unlock()
	if s.next(fmt.Sprint("action ", action, " ", what)) {
		return sqlite3.SQLITE_DENY
	}
	return sqlite3.SQLITE_OK
}
