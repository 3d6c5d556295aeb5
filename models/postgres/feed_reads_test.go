//go:build postgres

package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// Of each segment, what lies between the first and the last user that the feed names is read: 512 to 1023 is one.
func TestWithAFeedOnlyTheSegmentsThatItNamesAreReadAgain(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "log_statement=all", "wal_level=logical")
	url, elsewhere := server.NewDatabase(t), server.NewDatabase(t)
	users, others := openUsers(t, url), openUsers(t, url)
	record(t, users, url)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 2000) n")
	replicate(t, elsewhere, url)
	storetest.Text(t, users)
	late := begin(t, url)
	late.do("UPDATE users SET name = 'late' WHERE id IN (600, 601)")
	in := func(url, statements string) func() { return func() { postgresql.SQL(t, url, statements) } }
	const again = "UPDATE users SET name = name || '!' WHERE id = 9; INSERT INTO users_changes (op, id) SELECT 'changed', 9 "
	const many = "INSERT INTO users (id, name, email) SELECT n, 'n', n FROM generate_series(20001, 30001) n"
	log := &serverLog{t: t, server: server, url: url}
	for _, test := range []struct {
		name  string
		write func()
		reads string // the ids, or "all": the whole list
	}{
		{"another process's creation", func() { storetest.Create(t, others, "second") }, "2001-2001"},
		{"its own creation", func() { storetest.Create(t, users, "first") }, "2002-2002"},
		{"another program's change", in(url, "UPDATE users SET name = 'x' WHERE id % 1000 = 1"), "1-1 1001-1001 2001-2001"},
		{"a deletion of a whole segment", in(url, "DELETE FROM users WHERE id BETWEEN 1024 AND 1535"), "1024-1535"},
		{"another id", in(url, "UPDATE users SET id = 100000 WHERE id = 2"), "2-2 100000-100000"},
		{"COPY", in(url, `COPY users (id, name, email) FROM PROGRAM 'printf "1100\\tcopied\\tc\\n"'`), "1100-1100"},
		{"a transaction that commits late", func() { late.do("COMMIT") }, "600-601"},
		{"logical replication", func() {
			postgresql.SQL(t, elsewhere, "INSERT INTO users VALUES (5000, 'replicated', 'replicated', now())")
			server.WaitUntil(t, "1", "SELECT count(*)::text FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()")
		}, "5000-5000"},
		{"a rollback", in(url, "BEGIN; DELETE FROM users; ROLLBACK"), ""},
		{"a write that does not concern users", in(url, "CREATE TABLE other ()"), ""},
		{"a write in another database", in(elsewhere, "CREATE TABLE other ()"), ""},
		{"4,096 entries", in(url, again+"FROM generate_series(1, 4095)"), "9-9"},
		{"4,097 entries", in(url, again+"FROM generate_series(1, 4096)"), "all"},
		{"one of many users", in(url, many), "all"},
		{"a trigger that is disabled", in(url, "ALTER TABLE users DISABLE TRIGGER users_changes_deleted"), "all"},
	} {
		log.begin()
		whole := users.Stats().Read
		test.write()
		got, _ := storetest.Text(t, users)
		reads := log.ranges()
		if users.Stats().Read > whole {
			reads = strings.TrimSpace("all " + reads)
		}
		if reads != test.reads {
			t.Errorf("after %s the list reads %q, want %q", test.name, reads, test.reads)
		}
		if got != wholeText(t, users) {
			t.Errorf("after %s the list is not what is stored", test.name)
		}
	}
}

// replicate lets a table users of one database replicate to that of another.
func replicate(t *testing.T, from, to string) {
	t.Helper()
	postgresql.SQL(t, from, "CREATE TABLE users (id bigint PRIMARY KEY, name text, email text, created_at timestamptz)",
		"CREATE PUBLICATION users FOR TABLE users", "SELECT pg_create_logical_replication_slot('users', 'pgoutput')")
	postgresql.SQL(t, to, "CREATE SUBSCRIPTION users CONNECTION '"+from+
		"' PUBLICATION users WITH (create_slot = false, copy_data = false)")
	t.Cleanup(func() {
		postgresql.SQL(t, to, "ALTER SUBSCRIPTION users DISABLE", "ALTER SUBSCRIPTION users SET (slot_name = NONE)",
			"DROP SUBSCRIPTION users")
	})
}

// serverLog is what a server writes into its log between two moments.
type serverLog struct {
	t      *testing.T
	server *postgresql.Server
	url    string
	marks  int
	from   int
}

func (l *serverLog) begin() { l.from = l.mark() }

// mark returns how long the log is once all has arrived that was written into it before.
func (l *serverLog) mark() (length int) {
	l.t.Helper()
	l.marks++
	mark := fmt.Sprintf("SELECT 'mark %d'", l.marks)
	postgresql.SQL(l.t, l.url, mark)
	await(l.t, mark, func() bool {
		length = strings.Index(l.server.Log(), mark)
		return length >= 0
	})
	return length
}

var rangeOfIDs = regexp.MustCompile(`id BETWEEN \$1::int8 AND \$2::int8 .*\n.* [Pp]arameters: \$1 = '(\d+)', \$2 = '(\d+)'`)

// ranges returns which ids were read since begin.
func (l *serverLog) ranges() string {
	l.t.Helper()
	end := l.mark()
	var ranges []string
	for _, found := range rangeOfIDs.FindAllStringSubmatch(l.server.Log()[l.from:end], -1) {
		ranges = append(ranges, found[1]+"-"+found[2])
	}
	return strings.Join(ranges, " ")
}
