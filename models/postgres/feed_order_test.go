//go:build postgres

package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/storetest"
	"users-api/tests/postgresql"
)

// A transaction that began first, and has the lower numbers, commits last.
func TestNothingIsMissedOfATransactionThatCommitsLate(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t, "max_prepared_transactions=2")
	cursor := cursorOf(t, users)
	for name, end := range map[string][]string{
		"a long transaction": {"COMMIT"}, "a prepared one": {"PREPARE TRANSACTION 'two'", "COMMIT PREPARED 'two'"},
	} {
		late := begin(t, url)
		late.do("INSERT INTO users (name, email) VALUES ('late', gen_random_uuid())")
		id := storetest.Create(t, users, name)
		held, next := entriesAfter(t, users, cursor)
		if held != "" || next != cursor {
			t.Errorf("%s: before its commit the feed has %s and goes from %s to %s", name, held, cursor, next)
		}
		for _, statement := range end {
			late.do(statement)
		}
		got, next := entriesAfter(t, users, cursor)
		if want := fmt.Sprintf("created %d late, created %d %s", id-1, id, name); got != want {
			t.Errorf("%s: the feed has %s, want %s", name, got, want)
		}
		cursor = next
	}
}

// The numbers of transactions are compared as numbers: 1000 comes after 999.
func TestTheFeedIsInTheOrderOfTheTransactions(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	postgresql.SQL(t, url, `DO $$ BEGIN
		WHILE pg_current_xact_id()::text::int8 < 990 LOOP COMMIT; END LOOP;
		ASSERT pg_current_xact_id()::text::int8 < 1000;
	END $$`)
	var want []int64
	for i := range 40 {
		want = append(want, storetest.Create(t, users, fmt.Sprint(i)))
	}
	await(t, "the last is shown", func() bool {
		changes, err := users.Changes(ctx, "", 100)
		return err != nil || len(changes.Entries) == len(want)
	})
	var got []int64
	for after := ""; len(got) < len(want); {
		changes, err := users.Changes(ctx, after, 3)
		if err != nil || len(changes.Entries) == 0 {
			t.Fatalf("after %s: %v, %v", after, changes, err)
		}
		for _, change := range changes.Entries {
			got = append(got, change.ID)
		}
		after = changes.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("the entries are of %v, want %v", got, want)
	}
}

// A list names a cursor after which everything comes that the list does not have, also while a transaction is under way.
func TestAClientThatStartsWithAListMissesNothing(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	late := begin(t, url)
	late.do("INSERT INTO users (name, email) VALUES ('late', 'late')")
	storetest.Create(t, users, "in the list")
	var fromList, fromExport string
	if err := users.List(ctx, func(list models.List) error { fromList = list.Cursor; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := users.Export(ctx, models.Query{}, func(export models.Export) error {
		fromExport = export.Cursor
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	late.do("COMMIT")
	for what, cursor := range map[string]string{"the list": fromList, "the export": fromExport} {
		if got, _ := entriesAfter(t, users, cursor); !strings.Contains(got, "created 1 late") {
			t.Errorf("after %s the feed has %q", what, got)
		}
	}
}

func TestACursorIsValidForTheFeedThatGaveIt(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	storetest.Create(t, users, "a")
	_, cursor := entriesAfter(t, users, "")
	epoch, key, _ := strings.Cut(cursor, ".")
	for _, bad := range []string{
		"x", "0", "..", "é", epoch, epoch + ".", epoch + ".1", epoch + "." + key + "0", epoch + ".0" + key, "0" + cursor,
		epoch + ".-1.0", epoch + ".18446744073709551616.0", strings.Repeat("0", len(epoch)) + "." + key,
		cursor + " ", cursor + ".1",
	} {
		expectGone(t, users, "garbage "+bad, bad)
	}
	for _, change := range []struct{ name, statements string }{
		{"a trigger that was disabled", "ALTER TABLE users DISABLE TRIGGER users_changes_created; " +
			"ALTER TABLE users ENABLE ALWAYS TRIGGER users_changes_created"},
		{"a function that is made again", replaceFunction(recordFunction)},
		{"a column's new type", "ALTER TABLE users ALTER name TYPE varchar(200) USING 'new'"},
		{"a new column", "ALTER TABLE users ADD phone text DEFAULT '1'"},
		{"entries that another program removed", "TRUNCATE users_changes"},
		{"entries that another program deleted", "DELETE FROM users_changes; INSERT INTO users (name, email) VALUES ('n', 'n')"},
	} {
		postgresql.SQL(t, url, change.statements)
		expectGone(t, users, change.name, cursor)
		storetest.Create(t, users, change.name)
		_, cursor = entriesAfter(t, users, "")
	}
	if err := ForgetChanges(ctx, url, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := users.Changes(ctx, cursor, 1); !errors.Is(err, models.ErrNoFeed) {
		t.Errorf("without a feed: %v", err)
	}
	record(t, users, url)
	expectGone(t, users, "a feed of before", cursor)
}

func expectGone(t *testing.T, users *Users, what, cursor string) {
	t.Helper()
	if _, err := users.Changes(ctx, cursor, 10); !errors.Is(err, models.ErrCursorGone) {
		t.Errorf("%s: %v", what, err)
	}
}

func TestOldEntriesAreDeletedFromTheOldestOn(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT 'n', n FROM generate_series(1, 2500) n")
	_, last := entriesOfAll(t, users, "")
	prune(t, users, time.Now().Add(-time.Hour))
	if got, _ := entriesAfter(t, users, ""); strings.Count(got, ",") != 2499 {
		t.Errorf("nothing is old, and the feed has %d entries", strings.Count(got, ",")+1)
	}
	first, err := users.Changes(ctx, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	postgresql.SQL(t, url, "UPDATE users_changes SET at = at - interval '1 day' WHERE id <= 2400 OR id = 2450")
	prune(t, users, time.Now().Add(-time.Hour))
	if got, _ := entriesAfter(t, users, ""); !strings.HasPrefix(got, "created 2401 n, created 2402 n, ") ||
		strings.Count(got, ",") != 99 {
		t.Errorf("the feed has %s", got)
	}
	expectGone(t, users, "a cursor of an entry that is gone", first.Next)
	prune(t, users, time.Now().Add(time.Hour))
	if got, next := entriesAfter(t, users, last); got != "" || next != last {
		t.Errorf("after the last entry, which is gone, the feed has %q and goes on from %s", got, next)
	}
	storetest.Create(t, users, "new")
	for _, cursor := range []string{"", last} {
		if got, _ := entriesAfter(t, users, cursor); got != "created 2501 new" {
			t.Errorf("after %q the feed has %s", cursor, got)
		}
	}
	postgresql.SQL(t, url, "INSERT INTO users_changes (xid, op, id) "+
		"VALUES ('999999999999', 'created', 1), ('1000000000000', 'begin', NULL)")
	prune(t, users, time.Now().Add(-time.Hour))
	if n := postgresql.Ask(t, url, "SELECT count(*)::text FROM users_changes WHERE xid > '999999999'"); n != "0" {
		t.Errorf("there are %s entries of another server", n)
	}
}

func prune(t *testing.T, users *Users, before time.Time) {
	t.Helper()
	if err := users.PruneChanges(ctx, before); err != nil {
		t.Error(err)
	}
}

// A crash takes back the numbers of transactions of which nothing is on the disk: they are given again.
func TestNothingIsMissedAfterACrash(t *testing.T) {
	t.Parallel()
	server := postgresql.Start(t, "synchronous_commit=off", "wal_writer_delay=10s")
	url := server.NewDatabase(t)
	users := openUsers(t, url)
	record(t, users, url)
	for i := range 5 {
		postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('kept', %d)", i))
		for range 10 {
			postgresql.SQL(t, url, "BEGIN; SELECT pg_current_xact_id(); ROLLBACK")
		}
		before, cursor := entriesAfter(t, users, "")
		server.Kill(t)
		server.StartAgain(t)
		postgresql.SQL(t, url, fmt.Sprintf("INSERT INTO users (name, email) VALUES ('new', 'new%d')", i))
		if all, _ := entriesAfter(t, users, ""); !strings.HasPrefix(all, before) {
			t.Errorf("the feed had %s, and after the crash has %s", before, all)
		}
		if got, _ := entriesAfter(t, users, cursor); !strings.HasSuffix(got, " new") || strings.Contains(got, ",") {
			t.Errorf("after the crash the feed has %q", got)
		}
	}
}

// Users of a response have about 1 MiB.
func TestALongResponseOfTheFeedIsCut(t *testing.T) {
	t.Parallel()
	users, url := openRecorded(t)
	postgresql.SQL(t, url, "INSERT INTO users (name, email) SELECT repeat('x', 100000), n FROM generate_series(1, 50) n",
		"DELETE FROM users WHERE id % 7 = 0", "UPDATE users SET name = name WHERE id % 3 = 0")
	total, responses, cursor := 0, 0, ""
	for {
		changes, err := users.Changes(ctx, cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		bytes := 0
		for i := range changes.Entries {
			if user := changes.Entries[i].User; user != nil {
				bytes += len(user.Name)
			} else if changes.Entries[i].ID%7 != 0 {
				t.Errorf("the entry %v has no user", changes.Entries[i])
			}
		}
		if bytes > models.MostChangesBytes+100_000 {
			t.Errorf("a response has %d bytes", bytes)
		}
		if len(changes.Entries) == 0 {
			break
		}
		total, responses, cursor = total+len(changes.Entries), responses+1, changes.Next
	}
	if want := 50 + 7 + 14; total != want || responses < 5 {
		t.Errorf("%d responses have %d entries, want %d", responses, total, want)
	}
}
