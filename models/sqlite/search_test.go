package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func indexSearch(t testing.TB, users *Users) {
	t.Helper()
	if err := IndexSearch(ctx, users.writer.files.database.path, users.fields, nil); err != nil {
		t.Fatal(err)
	}
}

// openIndexed opens an empty database with an index for searches, in which users are indexed all the time.
func openIndexed(t testing.TB, fields models.Fields) models.Users {
	users := openWith(t, fields, 8<<20)
	indexSearch(t, users)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	go func() {
		for tick := time.NewTicker(20 * time.Millisecond); !users.closed.Load(); {
			select {
			case <-tick.C:
				users.writer.indexWritten()
			case <-done:
				return
			}
		}
	}()
	return users
}

func TestTheContractIsKeptWithAnIndexForSearches(t *testing.T) {
	t.Parallel()
	storetest.Run(t, openIndexed, traits)
}

// Whatever is written, indexed or dropped beside a service, searches find what a plain model has.
func TestSearchesFindWhatTheFileHoldsWhateverAnotherProgramDoes(t *testing.T) {
	t.Parallel()
	var users *Users
	open := func(t testing.TB, fields models.Fields) models.Users {
		users = openWith(t, fields, 0)
		return users
	}
	storetest.Random(t, open, traits, func(m *storetest.Machine) map[string]func(*rapid.T) {
		path := users.writer.files.database.path
		other := &another{Machine: m, db: otherProgram(t, users), fields: users.fields}
		expect := func(run func() error) func(*rapid.T) {
			return func(r *rapid.T) {
				if err := run(); err != nil {
					r.Fatal(err)
				}
			}
		}
		return map[string]func(*rapid.T){
			"another creates": other.create, "another changes": other.change, "another deletes": other.delete,
			"index":   expect(func() error { return IndexSearch(ctx, path, users.fields, nil) }),
			"drop":    expect(func() error { return DropSearchIndex(ctx, path) }),
			"written": expect(func() error { users.writer.indexWritten(); return nil }),
			"vacuum":  expect(func() error { _, err := other.db.Exec("VACUUM"); return err }),
		}
	})
}

// oddValues are what other programs may store, as SQL: most contain parts of each other.
var oddValues = []string{"NULL", "''", "'abc'", "'aBCd'", "'x''abc\"d'", "12345", "-1234.5", "1e300", "0.1 + 0.2",
	"x'616263'", "x'00ff'",
	"'ab' || char(0) || 'cde'", "char(0)", "CAST(x'6162c3a980' AS TEXT)", "CAST(x'c3616263' AS TEXT)",
	"CAST(x'80616263f0' AS TEXT)",
	"CAST(x'6162eda080' AS TEXT)", "'abé'", "'ABÉ'", "'İstanbul'", "'istanbul'", "'straße'", "'STRASSE'",
	"char(0x212a) || 'elvin'",
	"'kelvin'", "'ΟΔΟΣ'", "'οδος'", "'😀😁😂🤣'", "'a😀b'", "char(0xffff, 0xfffe, 0xfffd)", "'100%_\\*(NEAR) AND \"OR'",
	"printf('%.3000c', 'ab')"}

var soughtTexts = []string{"abc", "ABC", "bcd", "cde", "abé", "abÉ", "ab", "a", "é", "bé", "istanbul", "İst",
	"İstanbul", "i̇st", "straße",
	"strasse", "SSE", "kelvin", "\u212aelvin", "ΟΔΟ", "ΔΟΣ", "δος", "😀😁😂", "😁😂🤣", "😀😁", "a😀b", "\uffff\ufffe\ufffd",
	"\ufffd", "2345", "234",
	"0.3", "e+300", "'ab", "\"d", `%_\*`,
	`"OR`, "*(NEAR)", "AND", "c\x00d", "\x00", "b\x00cd", "\xc3abc", "ab\xc3", strings.Repeat("a", 999)}

// oddIDs: some are far from the others, and from what a page looks at first.
var oddIDs = []string{"NULL", "-5", "1", "2", "3", "9000", "20000", "9223372036854775806", "-9223372036854775808"}

// Another program writes what it likes, by any statement, and each search finds the same by the index as without.
func TestAnIndexedSearchFindsWhatAScanFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		table := rapid.SampledFrom([]string{sqlitetest.Table,
			"CREATE TABLE Users (Id INTEGER PRIMARY KEY, Name TEXT COLLATE NOCASE, EMAIL VARCHAR(9) UNIQUE COLLATE RTRIM, created_at)",
			"PRAGMA encoding = 'UTF-16'; " + sqlitetest.Table}).Draw(r, "table")
		users, other := openTable(t, 0, strings.Split(table, "; ")...)
		defer func() { _ = users.Close(ctx); _ = other.Close() }()
		value := func(of []string, label string) string { return rapid.SampledFrom(of).Draw(r, label) }
		for range rapid.IntRange(0, 10).Draw(r, "users") {
			_, _ = other.Exec(fmt.Sprintf("INSERT OR IGNORE INTO users (id, name, email) VALUES (%s, %s, %s)",
				value(oddIDs, "id"), value(oddValues, "name"), value(oddValues, "email")))
		}
		if rapid.Bool().Draw(r, "changes are recorded") {
			switchFeed(t, users, true)
		}
		indexSearch(t, users)
		for range rapid.IntRange(0, 30).Draw(r, "writes") {
			statement := fmt.Sprintf(rapid.SampledFrom([]string{
				"INSERT OR REPLACE INTO users (id, name, email) VALUES (%s, %s, %s)",
				"INSERT OR ROLLBACK INTO users (id, name, email) VALUES (%s, %s, %s)",
				"UPDATE OR REPLACE users SET rowid = coalesce(%[2]s, 7), email = %[3]s WHERE id = %[1]s",
				"UPDATE users SET name = %[2]s WHERE id IS NOT %[1]s", "DELETE FROM users WHERE id = %[1]s OR name = %[2]s",
			}).Draw(r, "statement"), value(oddIDs, "id"), value(oddValues, "name"), value(oddValues, "email"))
			_, _ = other.Exec(strings.ReplaceAll(statement, "%!(EXTRA", "--"))
			if rapid.Bool().Draw(r, "indexed") {
				users.writer.indexWritten()
			}
		}
		expectSameFound(r, users, rapid.SliceOfN(rapid.SampledFrom(soughtTexts), 8, 8).Draw(r, "texts")...)
	})
}

// expectSameFound compares what searches find by the index with what they find without.
func expectSameFound(t rapid.TB, users *Users, texts ...string) {
	t.Helper()
	err := users.reader.on(ctx, models.Query{Contains: "any"}, func(conn *connection) error {
		if !conn.table.indexed {
			t.Fatal("the index is not used")
		}
		scan := &connection{Connection: conn.Connection, queries: conn.queries}
		for _, text := range texts {
			for _, descending := range []bool{false, true} {
				for _, limit := range []int{0, 2} {
					query := models.Query{Contains: text, Descending: descending, Limit: limit}
					got, want := found(t, conn, query), found(t, scan, query)
					if !slices.Equal(got, want) {
						t.Errorf("%q, descending %t, at most %d: %v, want %v", text, descending, limit, got, want)
					}
					if len(want) > 0 {
						query.After = &want[0]
						if got, want := found(t, conn, query), found(t, scan, query); !slices.Equal(got, want) {
							t.Errorf("%q after %d, descending %t, at most %d: %v, want %v", text, *query.After, descending, limit, got, want)
						}
					}
				}
			}
			got, err := conn.count(models.Query{Contains: text})
			want, failed := scan.count(models.Query{Contains: text})
			if got != want || err != nil || failed != nil {
				t.Errorf("%q: %d are counted, want %d; %v, %v", text, got, want, err, failed)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func found(t rapid.TB, conn *connection, query models.Query) (ids []int64) {
	t.Helper()
	for user, err := range conn.users(query) {
		if err != nil {
			t.Fatalf("%+v: %v", query, err)
		}
		ids = append(ids, user.ID)
	}
	return ids
}

func TestATextOfThreeCharactersIsSoughtInTheIndex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "ab": "", "aBc": `"abc"`, "abcd": `"abc" AND "bcd"`, `a"b`: `"a""b"`, "abé": "", "abcé": `"abc"`, "éab": `"éab"`,
		"ab\x00cd": "", "ab\xffcd": "", "😀😁😂x": `"😀😁😂" AND "😁😂x"`,
	} {
		if got := trigrams(text); got != want {
			t.Errorf("%q is sought as %s, want %s", text, got, want)
		}
	}
	if long := trigrams(strings.Repeat("abcd", 250)); strings.Count(long, "AND") != mostTrigrams-1 || !utf8.ValidString(long) {
		t.Errorf("a long text is sought as %s", long)
	}
}
