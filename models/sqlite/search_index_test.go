package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// expectIndexed expects that searches use an index, or none, and find all users by a part of their emails.
func expectIndexed(t *testing.T, why string, users *Users, want bool) {
	t.Helper()
	err := users.reader.on(ctx, models.Query{Contains: "any"}, func(conn *connection) error {
		if conn.table.indexed != want {
			t.Errorf("%s: the index is used: %t", why, conn.table.indexed)
		}
		if conn.table.rules {
			t.Errorf("%s: the triggers of the index count as another program's", why)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for range maxReaders { // each in turn
		if n, err := users.Count(ctx, models.Query{Contains: "@example"}); n != 3 || err != nil {
			t.Errorf("%s: %d users are found, %v", why, n, err)
		}
	}
}

const threeSearched = "INSERT INTO users (name, email) VALUES ('Ada', 'a@example.org'), " +
	"('Alan', 'b@example.org'), ('Zoe', 'c@example.org')"

func TestARunningServiceNoticesTheSearchIndexAndItsEnd(t *testing.T) {
	t.Parallel()
	users, other := openTable(t, 1<<20, sqlitetest.Table, threeSearched)
	before := schema(t, other)
	for range 2 {
		expectIndexed(t, "without it", users, false)
		indexSearch(t, users)
		expectIndexed(t, "with it", users, true)
		with := schema(t, other)
		indexSearch(t, users)
		if again := schema(t, other); again != with {
			t.Errorf("the schema was %s and is %s", with, again)
		}
		if err := DropSearchIndex(ctx, users.writer.files.database.path); err != nil {
			t.Fatal(err)
		}
		if after := schema(t, other); strings.TrimRight(after, "0123456789") != strings.TrimRight(before, "0123456789") {
			t.Errorf("the schema was %s and is %s", before, after)
		}
	}
}

// An index that may lack a user is not used until the command makes it again.
func TestAnIndexThatMayLackUsersIsNotUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		statements []string
		used       bool
	}{
		"VACUUM": {[]string{"VACUUM", "VACUUM"}, true},
		"another table with the same triggers": {[]string{"CREATE TABLE kept AS SELECT * FROM sqlite_schema",
			"CREATE TABLE new AS SELECT * FROM users", "DROP TABLE users", sqlitetest.Table,
			"INSERT INTO users SELECT 4 - id, name, email, created_at FROM new", "DROP TABLE new", "triggers again",
			"VACUUM"}, false},
		"users renamed":     {[]string{"ALTER TABLE users RENAME TO u", "ALTER TABLE u RENAME TO users"}, false},
		"a trigger dropped": {[]string{"DROP TRIGGER users_search_changed"}, false},
		"a trigger that keeps others from running": {[]string{
			"CREATE TRIGGER t AFTER INSERT ON users BEGIN SELECT RAISE(IGNORE); END", "DELETE FROM users WHERE id = 1",
			"INSERT INTO users (name, email) VALUES ('Ada', 'a@example.org')"}, false},
		"the table of those who were written dropped": {[]string{"DROP TRIGGER users_search_created",
			"DROP TRIGGER users_search_changed",
			"DROP TRIGGER users_search_deleted", "DROP TABLE users_search_written"}, false},
	} {
		users, other := openTable(t, 1<<20, sqlitetest.Table, threeSearched)
		indexSearch(t, users)
		for _, statement := range test.statements {
			if statement == "triggers again" {
				for _, trigger := range indexTriggers() {
					sqlitetest.Run(t, other, trigger.create())
				}
				continue
			}
			sqlitetest.Run(t, other, statement)
		}
		if strings.Contains(name, "keeps others") { // it is a rule of the table, too
			expectUsed(t, name, users, false)
			sqlitetest.Run(t, other, "DROP TRIGGER t")
			indexSearch(t, users)
			continue
		}
		expectUsed(t, name, users, test.used)
		indexSearch(t, users)
		expectIndexed(t, name+", and the command again", users, true)
	}
}

func expectUsed(t *testing.T, why string, users *Users, want bool) {
	t.Helper()
	err := users.reader.on(ctx, models.Query{Contains: "any"}, func(conn *connection) error {
		if conn.table.indexed != want {
			t.Errorf("%s: the index is used: %t", why, conn.table.indexed)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n, err := users.Count(ctx, models.Query{Contains: "@example"}); n != 3 || err != nil {
		t.Errorf("%s: %d users are found, %v", why, n, err)
	}
}

// A conflict clause of another program's statement holds for what triggers do, too.
func TestTheIndexRefusesNoWriteOfAnotherProgram(t *testing.T) {
	t.Parallel()
	users, other := openTable(t, 0, sqlitetest.Table, threeSearched)
	indexSearch(t, users)
	for _, clause := range []string{"", "OR ABORT", "OR FAIL", "OR ROLLBACK", "OR IGNORE", "OR REPLACE"} {
		sqlitetest.Run(t, other, "DELETE FROM users WHERE id = 3",
			"INSERT "+clause+" INTO users (id, name, email) VALUES (3, 'Zoe', 'c@example.org')",
			"UPDATE "+clause+" users SET id = 4 WHERE id = 3", "UPDATE "+clause+" users SET id = 3 WHERE id = 4")
		expectIndexed(t, clause, users, true)
	}
}

func TestAnIndexOfOtherFieldsIsNotUsed(t *testing.T) {
	t.Parallel()
	users, _ := openTable(t, 0, strings.Replace(sqlitetest.Table, ")", ", phone)", 1), threeSearched)
	path := users.writer.files.database.path
	if err := IndexSearch(ctx, path, models.NewFields("phone"), nil); err != nil {
		t.Fatal(err)
	}
	expectUsed(t, "with a field more", users, false)
	err := IndexSearch(ctx, path, models.NewFields("city"), nil)
	if err == nil || !strings.Contains(err.Error(), "add-field city") {
		t.Errorf("a field that is no column: %v", err)
	}
	indexSearch(t, users)
	expectIndexed(t, "with the same fields", users, true)
}

func TestATableOfAnotherProgramWithTheNameOfTheIndexIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, create := range []string{"CREATE TABLE users_search (id, text)",
		"CREATE TABLE Users_Search_Written (id INTEGER PRIMARY KEY, at)",
		"CREATE VIEW users_search AS SELECT id FROM users", "CREATE VIRTUAL TABLE users_search USING fts5(name)"} {
		users, other := openTable(t, 0, sqlitetest.Table, threeSearched, create)
		path, before := users.writer.files.database.path, schema(t, other)
		for what, change := range map[string]error{"index-search": IndexSearch(ctx, path, users.fields, nil),
			"--drop": DropSearchIndex(ctx, path)} {
			if change == nil || !strings.Contains(change.Error(), "another program's: rename it") {
				t.Errorf("%s: %s: %v", create, what, change)
			}
		}
		if after := schema(t, other); after != before {
			t.Errorf("%s: the schema was %s and is %s", create, before, after)
		}
	}
}

// What a deleted user was called is not kept.
func TestNoDeletedUserStaysInTheIndex(t *testing.T) {
	t.Parallel()
	users, other := openTable(t, 0, sqlitetest.Table, threeSearched)
	indexSearch(t, users)
	sqlitetest.Run(t, other, "DELETE FROM users WHERE id = 1", "UPDATE users SET id = 7 WHERE id = 2")
	users.writer.indexWritten()
	await(t, "the index has the users that there are", func() bool {
		var ids string
		err := other.QueryRow("SELECT group_concat(id) FROM (SELECT id FROM users_search_docsize ORDER BY id)").Scan(&ids)
		return err == nil && ids == "3,7"
	})
}

// The command was killed: the service indexes the rest after its next search.
func TestUsersWhoAreNotIndexedYetAreIndexedAfterASearch(t *testing.T) {
	t.Parallel()
	users, other := openTable(t, 0, sqlitetest.Table)
	indexSearch(t, users)
	var rows []models.NewUser
	for i := range 3 * indexStep {
		rows = append(rows, models.NewUser{Name: fmt.Sprint("User ", i), Email: fmt.Sprintf("%d@example.org", i)})
	}
	if _, err := users.Import(ctx, storetest.Rows(rows...), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	written := func() (n int) {
		if err := other.QueryRow("SELECT count(*) FROM users_search_written").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := written(); n != len(rows) {
		t.Errorf("%d users are to be indexed", n)
	}
	for found := range slices.Values([]string{"User 700", "user 70", "@example"}) {
		expectSameFound(t, users, found)
	}
	if n, err := users.Count(ctx, models.Query{Contains: "User 700"}); n != 1 || err != nil {
		t.Errorf("%d users are found, %v", n, err)
	}
	await(t, "all are indexed", func() bool { return written() == 0 })
	expectSameFound(t, users, "User 700", "user 70", "@example", "nobody")
}

// Each step is a short transaction, so that a service writes beside it.
func TestAServiceWritesWhileTheIndexIsMade(t *testing.T) {
	t.Parallel()
	users, _ := openTable(t, 0, sqlitetest.Table,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "+
			"INSERT INTO users (name, email) SELECT 'User ' || i, i || '@example.org' FROM n")
	created := 0
	err := IndexSearch(ctx, users.writer.files.database.path, users.fields, func(done, total int64) {
		if total != 5000 || done < 1 || done > total {
			t.Errorf("%d of %d are indexed", done, total)
		}
		created++
		go func() { _, _ = users.Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint("beside", done)}) }()
	})
	if err != nil || created < 5000/indexStep {
		t.Errorf("it ended with %v after %d steps", err, created)
	}
	await(t, "all are found", func() bool {
		n, err := users.Count(ctx, models.Query{Contains: "beside"})
		return err == nil && int(n) >= 5000/indexStep
	})
	expectSameFound(t, users, "beside", "user 4999", "5000@")
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after a minute: %s: no", what)
		}
	}
}
