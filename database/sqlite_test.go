package database_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite" // the driver of database/sql

	"users-api/database"
	"users-api/models"
)

var sqlite = engine{
	name: "SQLite",
	empty: func(t testing.TB) database.Location {
		return database.Location{Path: filepath.Join(t.TempDir(), "data", "users.db")}
	},
	other: func(t testing.TB, at database.Location) *sql.DB {
		t.Helper()
		db, err := sql.Open("sqlite", "file:"+at.Path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		return db
	},
	odd: []string{
		"VACUUM",
		"CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET name = name || '!' WHERE id = 1; END",
		"CREATE TRIGGER u AFTER UPDATE ON users WHEN old.id <> 600 BEGIN UPDATE users SET name = name || '?' WHERE id = 600; END",
		"DROP TRIGGER t; DROP TRIGGER u",
		"CREATE TRIGGER users_changes_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '+' WHERE id = 1; END",
		"DROP TRIGGER users_changes_by_us",
		"CREATE TRIGGER users_search_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '-' WHERE id = 1; END",
		"DROP TRIGGER users_search_by_us",
		`CREATE TABLE elsewhere (no INTEGER PRIMARY KEY, what);
			CREATE TRIGGER a AFTER INSERT ON users BEGIN INSERT INTO elsewhere VALUES (-new.id, new.name); END;
			CREATE TRIGGER b BEFORE INSERT ON users BEGIN INSERT INTO elsewhere VALUES (NULL, new.name); END;
			CREATE TRIGGER c AFTER INSERT ON users WHEN new.email NOT LIKE '%copy' BEGIN
				INSERT INTO users (name, email) VALUES (new.name, new.email || ' copy'); END`,
		"DROP TRIGGER a; DROP TRIGGER b; DROP TRIGGER c",
		"REPLACE INTO users (id, name, email) VALUES (20, 'replaced', 'many21')",
		"ALTER TABLE users RENAME TO old; CREATE TABLE users (created_at, email TEXT UNIQUE, name TEXT, id INTEGER PRIMARY KEY); " +
			"INSERT INTO users SELECT created_at, email, 'copied', id FROM old;" + ownColumns(),
	},
}

// ownColumns adds the columns of the optional fields that the model has, if it has any.
func ownColumns() (statements string) {
	for _, name := range models.NewFields().OptionalNames() {
		statements += "ALTER TABLE users ADD COLUMN " + name + " TEXT;"
	}
	return statements
}

func init() { databases = append(databases, sqlite) }

const (
	odd    = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at)"
	noKeys = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)"
)

// openTable opens a database that another program has made with statements.
func openTable(t testing.TB, statements ...string) (*storage, *sql.DB) {
	t.Helper()
	at := database.Location{Path: filepath.Join(t.TempDir(), "users.db")}
	other := sqlite.other(t, at)
	run(t, other, append(statements, ownColumns())...)
	return sqlite.openAt(t, at, plain()), other
}

// A clause of the table lets a creation take away a user that no request named.
func TestAUserThatIsReplacedIsNotListed(t *testing.T) {
	t.Parallel()
	for _, clause := range []string{"ON CONFLICT REPLACE", "on\nconflict replace", "ON/**/CONFLICT REPLACE"} {
		s, other := openTable(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE "+clause+", created_at)",
			"INSERT INTO users (name, email) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT 'n', i FROM n")
		list(t, s.Users)
		s.create(t, "1")
		s.expectTable(t, "after a creation that replaces by "+clause, other)
	}
}

// Other programs make columns and indexes that ignore the case, under names of their own.
func TestAnIndexThatIgnoresTheCaseOfEmailsIsFollowedWhateverItsName(t *testing.T) {
	t.Parallel()
	for name, statements := range map[string][]string{
		"of the column":            {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT COLLATE NOCASE UNIQUE, created_at)"},
		"of the table":             {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at, UNIQUE (email COLLATE nocase))"},
		"of another name":          {noKeys, "CREATE UNIQUE INDEX by_email ON users (email COLLATE NOCASE)"},
		"beside one that does not": {odd, "CREATE UNIQUE INDEX by_email ON users (email COLLATE NOCASE)"},
	} {
		s, other := openTable(t, append(statements, "INSERT INTO users (name, email) VALUES ('Ada', 'Ada@x'), ('Alan', 'alan@x')")...)
		for _, email := range []string{"Ada@x", "ADA@x"} {
			found := selected(t, s.Users, models.Query{Where: s.hasEmail(email)})
			if len(found) != 1 || found[0].ID != 1 {
				t.Errorf("%s: %s finds %+v", name, email, found)
			}
		}
		done, err := s.Import(ctx, lines(file("Ada L:ADA@X")), becomes(1))
		if done.Updated != 1 || done.Deleted != 1 || err != nil {
			t.Errorf("%s: an import updates and deletes %+v, %v, want one user each", name, done, err)
		}
		if err := s.add(ctx, "aDA@x"); refusal(err) == nil || !refusal(err).Duplicate {
			t.Errorf("%s: a second user with the email: %v", name, err)
		}
		s.expectTable(t, name, other)
	}
}

// Only what an index on the email alone refuses is the email of another user.
func TestADuplicateIsOfTheEmailAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule, code string
		duplicate  bool
	}{
		"a partial index":     {"CREATE UNIQUE INDEX i ON users (email) WHERE name IS NOT NULL", "2067", true},
		"with the name":       {"CREATE UNIQUE INDEX i ON users (email, name)", "2067", false},
		"the name":            {"CREATE UNIQUE INDEX i ON users (name)", "2067", false},
		"the email of a team": {"CREATE TABLE team (email UNIQUE); CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO team VALUES (new.email); END", "2067", false},
	} {
		s, _ := openTable(t, noKeys, test.rule)
		s.create(t, "ada")
		_, err := s.Create(ctx, models.Profile{Name: "ada", Email: "ada"})
		if failed := refusal(err); failed == nil || failed.Duplicate != test.duplicate || failed.Code != test.code || failed.Meaning == "" {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

// A table without an index on the email stores what it allows, and what needs the index is refused.
func TestWithoutAUniqueIndexEmailsAreNotUnique(t *testing.T) {
	t.Parallel()
	s, other := openTable(t, noKeys)
	for range 2 {
		s.create(t, "ada")
	}
	for conflict, want := range map[database.Conflict]error{database.ConflictFails: nil, skips: models.ErrNotUnique, updates: models.ErrNotUnique} {
		if _, err := s.Import(ctx, lines(file("n:ada", "n:ada")), database.ImportOptions{OnConflict: conflict}); !errors.Is(err, want) {
			t.Errorf("with the option %d an import returns %v", conflict, err)
		}
	}
	query := models.Query{Where: s.hasEmail("ada"), Limit: 2}
	if found := selected(t, s.Users, query); len(found) != 2 {
		t.Errorf("by email, %v is found", found)
	}
	s.expectTable(t, "afterwards", other)
}

// NULL is no email, and a unique index allows many.
func TestUsersWithoutAnEmailAreAllFound(t *testing.T) {
	t.Parallel()
	s, _ := openTable(t, odd, "INSERT INTO users (name) VALUES ('Ada'), ('Alan')", "INSERT INTO users (name, email) VALUES ('Grace', '')")
	if found := selected(t, s.Users, models.Query{Where: s.hasEmail(""), Limit: 5}); len(found) != 3 {
		t.Errorf("without an email is found %v", found)
	}
}

// The version of SQLite matters: those before 3.51.3 can corrupt a database when its -wal file is reset.
func TestSQLiteIsNewEnough(t *testing.T) {
	t.Parallel()
	_, other := openTable(t, odd)
	var version string
	if err := other.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s", version)
	}
}
