//go:build postgres

package postgres

import (
	"context"
	"io"
	"iter"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// reads are the ways to read users whose names are in what they return.
func reads(t testing.TB, users *Users) map[string]func() string {
	return map[string]func() string{
		"the list":  func() string { text, _ := storetest.Text(t, users); return text },
		"an export": func() string { return names(t, storetest.Exported(ctx, users, models.Query{})) },
		"a page":    func() string { return names(t, models.Each(users.Select(ctx, models.Query{Limit: 10}))) },
		"a search":  func() string { return names(t, models.Each(users.Select(ctx, models.Query{Contains: "ada"}))) },
		"one user": func() string {
			user, err := users.Get(context.Background(), 1)
			if err != nil {
				t.Error(err)
			}
			return user.Name
		},
	}
}

// names returns the names of users, each in a line.
func names(t testing.TB, users iter.Seq2[models.User, error]) string {
	t.Helper()
	var all strings.Builder
	for user, err := range users {
		if err != nil {
			t.Error(err)
		}
		all.WriteString(user.Name + "\n")
	}
	return all.String()
}

// Two statements are not MVCC-safe: a snapshot that is older than their commit sees an empty table. So a snapshot is
// taken when the table's lock is held, and not while it is waited for.
func TestAReadThatWaitsForTheTablesLockSeesWhatWasCommittedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			url := postgresql.Shared(t).NewDatabase(t)
			setDefault(t, url, "default_transaction_isolation", isolation)
			setDefault(t, url, "lock_timeout", "50ms")
			users := openUsers(t, url)
			expectReadsBehindLocks(t, url, users)
		})
	}
}

func TestBehindAPoolerToo(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	setDefault(t, url, "default_transaction_isolation", "repeatable read")
	setDefault(t, url, "lock_timeout", "50ms")
	expectReadsBehindLocks(t, url, openUsers(t, server.PgBouncer(t)(url)))
}

// setDefault sets what new sessions of a database begin with.
func setDefault(t testing.TB, url, name, value string) {
	t.Helper()
	database := url[strings.LastIndex(url, "/")+1:]
	postgresql.SQL(t, url, "ALTER DATABASE "+database+" SET "+name+" = '"+value+"'")
}

func expectReadsBehindLocks(t *testing.T, url string, users *Users) {
	t.Helper()
	storetest.Create(t, users, "ada")
	for write, statements := range map[string][]string{
		"a column's new type": {"ALTER TABLE users ALTER name TYPE varchar(200)", "ALTER TABLE users ALTER name TYPE text"},
		"TRUNCATE and INSERT": {"CREATE TEMPORARY TABLE other ON COMMIT DROP AS TABLE users", "TRUNCATE users",
			"INSERT INTO users OVERRIDING SYSTEM VALUE TABLE other"},
	} {
		for read, run := range reads(t, users) {
			postgresql.SQL(t, url, "UPDATE users SET name = name") // so that the list is read again, and waits
			other := begin(t, url)
			for _, statement := range statements {
				other.do(statement)
			}
			got := make(chan string, 1)
			go func() { got <- run() }()
			awaitWaiting(t, url, "1")
			time.Sleep(100 * time.Millisecond) // longer than a session may wait by default
			other.do("COMMIT")
			if text := <-got; !strings.Contains(text, "ada") {
				t.Errorf("%s that waited for %s is %q", read, write, text)
			}
		}
	}
	if text, _ := storetest.Text(t, users); !strings.Contains(text, "ada") {
		t.Errorf("the list is %s", text)
	}
}

// A search path leads to another table when it is changed.
func TestAListIsThatOfTheTableThatTheSearchPathLeadsTo(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, "CREATE SCHEMA other")
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	postgresql.SQL(t, url, "CREATE TABLE other.users (LIKE users INCLUDING ALL)",
		"INSERT INTO other.users (name, email) VALUES ('grace', 'grace')")
	for _, test := range []struct{ path, want string }{{"other, public", "grace"}, {"public", "ada"}} {
		if _, version := storetest.Text(t, users); version == "" {
			t.Fatal("the list is not kept")
		}
		postgresql.SQL(t, url, "ALTER SYSTEM SET search_path = "+test.path, "SELECT pg_reload_conf()")
		for !strings.Contains(names(t, models.Each(users.Select(ctx, models.Query{}))), test.want) {
			runtime.Gosched()
		}
		if text, _ := storetest.Text(t, users); !strings.Contains(text, test.want) {
			t.Errorf("with the search path %s the list is %s", test.path, text)
		}
	}
}

// PostgreSQL sends all that a statement asks for, so the first page after a start is small, and the next is as large as
// what was read allows.
func TestNoMoreIsReadThanAPageNeeds(t *testing.T) {
	t.Parallel()
	url := postgresql.Shared(t).NewDatabase(t)
	openUsers(t, url)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT repeat(md5(i::text), 1 << 15), i FROM generate_series(1, 60) i")
	for _, snapshot := range []bool{false, true} {
		through, sent := countBytes(t, url)
		users := openUsers(t, through)
		n := 0
		selected := models.Each(users.Select(ctx, models.Query{}))
		if snapshot {
			selected = storetest.Exported(ctx, users, models.Query{})
		}
		for _, err := range selected {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if mib := sent.Load() >> 20; n != 60 || mib > 80 {
			t.Errorf("for %d users of 1 MiB each, the server sent %d MiB; in a snapshot: %t", n, mib, snapshot)
		}
	}
}

// countBytes returns a URL that leads to the same database, and counts what the server sends.
func countBytes(t *testing.T, place string) (through string, sent *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	sent = &atomic.Int64{}
	var server string
	through = edited(t, place, func(place *url.URL) { server, place.Host = place.Host, listener.Addr().String() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() }()
			go func() { _, _ = io.Copy(countingWriter{client, sent}, upstream); _ = client.Close() }()
		}
	}()
	return through, sent
}

// countingWriter counts what is written through it.
type countingWriter struct {
	io.Writer
	written *atomic.Int64
}

func (w countingWriter) Write(data []byte) (int, error) {
	w.written.Add(int64(len(data)))
	return w.Writer.Write(data)
}

// A search path that is changed meanwhile leads no page of a snapshot to another table.
func TestASnapshotStaysWithItsTable(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t)
	url := server.NewDatabase(t)
	postgresql.SQL(t, url, "CREATE SCHEMA other")
	users := openUsers(t, url)
	storetest.Create(t, users, "ada")
	postgresql.SQL(t, url, "CREATE TABLE other.users (LIKE users INCLUDING ALL)",
		"INSERT INTO other.users (name, email) VALUES ('grace', 'grace')")
	err := users.reader.inSnapshot(ctx, listing, func(ctx context.Context, _ connection, inside *reader) error {
		postgresql.SQL(t, url, "ALTER SYSTEM SET search_path = other, public", "SELECT pg_reload_conf()")
		for !strings.Contains(names(t, models.Each(users.Select(ctx, models.Query{}))), "grace") {
			runtime.Gosched()
		}
		for page, err := range inside.Select(ctx, models.Query{}) {
			if err != nil || len(page) != 1 || page[0].Name != "ada" {
				t.Errorf("the snapshot has %v, %v", page, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
