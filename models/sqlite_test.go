package models_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
)

const (
	odd    = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at)"
	noKeys = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)"
)

// ownColumns adds the columns of the optional fields that the model has, if it has any.
func ownColumns() (statements string) {
	for _, name := range models.NewFields().OptionalNames() {
		statements += "ALTER TABLE users ADD COLUMN " + name + " TEXT;"
	}
	return statements
}

// openTable opens a database that another program has made with statements.
func openTable(t testing.TB, statements ...string) (*storage, *sql.DB) {
	t.Helper()
	at := models.Database{Path: filepath.Join(t.TempDir(), "users.db")}
	other := sqlite.other(t, at)
	run(t, other, append(statements, ownColumns())...)
	return sqlite.openAt(t, at, plain()), other
}

// expectTable expects that lists, pages and single users are what another program reads from the table. Users that were the
// same the last time are not read alone again.
func (s *storage) expectTable(t testing.TB, when string, other *sql.DB) {
	t.Helper()
	rows, err := other.Query("SELECT id, coalesce(name, ''), coalesce(email, ''), coalesce(created_at || '', '') FROM users ORDER BY id")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer rows.Close() //nolint:errcheck // it was only read
	var texts []string
	seen := s.seen
	s.seen = map[string]bool{}
	for rows.Next() {
		var want models.User
		if err := rows.Scan(&want.ID, &want.Name, &want.Email, &want.CreatedAt); err != nil {
			t.Fatal(err)
		}
		want.CreatedAt = models.ShownTime(want.CreatedAt)
		text := string(s.fields.AppendUser(nil, &want))
		texts, s.seen[text] = append(texts, text), true
		if seen[text] {
			continue
		}
		if got, err := s.Get(ctx, want.ID); !s.same(got, want) || err != nil {
			t.Errorf("%s: the user is %v, %v, want %v", when, got, err, want)
		}
		page, err := s.Page(ctx, models.Query{Equal: values(s.fields, "email", want.Email), Limit: 1})
		if err != nil || page != nil && string(page.JSON) != "["+text+"]" {
			t.Errorf("%s: by email the user is %s, %v, want %v", when, page.JSON, err, want)
		}
	}
	page, err := s.Page(ctx, models.Query{Limit: 1000, Descending: true})
	newest := slices.Clone(texts)
	slices.Reverse(newest)
	if want := "[" + strings.Join(newest[:min(1000, len(newest))], ",") + "]"; err != nil || page != nil && string(page.JSON) != want {
		t.Errorf("%s: the page is %.300s, %v, want %.300s", when, page.JSON, err, want)
	}
	if list, version := s.list(t); list != "["+strings.Join(texts, ",")+"]" || version == "" && !s.delayed {
		t.Errorf("%s: the list is %.300s, want %.300v", when, list, texts)
	}
}

// Whatever another program does to the file, with the feed and without, nothing that is shown is stale: not after its
// commits, nor after ours, which its triggers may spread.
func TestWhatAnotherProgramWritesIsShownAtOnce(t *testing.T) {
	t.Parallel()
	const unrecorded = "CREATE TEMP TRIGGER ignore BEFORE INSERT ON main.users_changes BEGIN SELECT RAISE(IGNORE); END"
	for name, commands := range map[string][]command{"without the feed": nil, "with the feed": {recordChanges}, "with an index": {indexSearch}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sqlite.open(t, plain(), commands...)
			other := s.other(t, s.at)
			var rows []models.Values
			for i := range 1100 {
				rows = append(rows, values(s.fields, "name", "n", "email", fmt.Sprint(i)))
			}
			if _, err := s.Import(ctx, lines(rows), models.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			if name == "with the feed" {
				run(t, other, unrecorded)
			}
			ours := func() { s.create(t, fmt.Sprint("ours", time.Now().UnixNano())) }
			for _, statements := range []string{
				"INSERT INTO users (name, email) VALUES ('new', 'new')", "UPDATE users SET name = 'changed' WHERE id = 700",
				"DELETE FROM users WHERE id = 3", "UPDATE users SET id = -7, email = 'moved' WHERE id = 8",
				"BEGIN; DELETE FROM users WHERE id = 9; ROLLBACK", "VACUUM",
				"CREATE TRIGGER t AFTER INSERT ON users BEGIN UPDATE users SET name = name || '!' WHERE id = 1; END",
				"CREATE TRIGGER u AFTER UPDATE ON users WHEN old.id <> 600 BEGIN UPDATE users SET name = name || '?' WHERE id = 600; END",
				"DROP TRIGGER t; DROP TRIGGER u",
				"CREATE TRIGGER users_changes_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '+' WHERE id = 1; END",
				"DROP TRIGGER users_changes_by_us",
				"CREATE TRIGGER users_search_by_us AFTER INSERT ON users BEGIN UPDATE users SET name = name || '-' WHERE id = 1; END",
				"DROP TRIGGER users_search_by_us", "REPLACE INTO users (id, name, email) VALUES (20, 'replaced', '21')",
				"ALTER TABLE users RENAME TO old; CREATE TABLE users (created_at, email TEXT UNIQUE, name TEXT, id INTEGER PRIMARY KEY); " +
					"INSERT INTO users SELECT created_at, email, 'copied', id FROM old;" + ownColumns(),
			} {
				run(t, other, statements)
				s.expectTable(t, statements, other)
				ours()
				s.expectTable(t, statements+", and a creation", other)
			}
		})
	}
}

// A clause of the table lets a creation take away a user that no request named.
func TestAUserThatIsReplacedIsNotListed(t *testing.T) {
	t.Parallel()
	for _, clause := range []string{"ON CONFLICT REPLACE", "on\nconflict replace", "ON/**/CONFLICT REPLACE"} {
		s, other := openTable(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE "+clause+", created_at)",
			"INSERT INTO users (name, email) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT 'n', i FROM n")
		s.list(t)
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
			if ids := s.ids(t, models.Query{Equal: values(s.fields, "email", email)}); !slices.Equal(ids, []int64{1}) {
				t.Errorf("%s: %s finds %v", name, email, ids)
			}
		}
		for _, test := range []struct {
			options models.ImportOptions
			want    models.Imported
		}{
			{models.ImportOptions{OnConflict: skips}, models.Imported{Skipped: 1}},
			{models.ImportOptions{OnConflict: updates}, models.Imported{Updated: 1}},
			{becomes(1), models.Imported{Skipped: 1, Deleted: 1, DeletedUsers: []models.DeletedUser{{ID: 2, Email: "alan@x"}}}},
		} {
			if done, err := s.Import(ctx, lines(file("Ada L:ADA@X")), test.options); !reflect.DeepEqual(done, test.want) || err != nil {
				t.Errorf("%s: an import with %+v: %+v, %v %s", name, test.options, done, err, refusals(err))
			}
		}
		if _, err := s.Create(ctx, models.NewUser{Name: "n", Email: "aDA@x"}); refusal(err) == nil || !refusal(err).Duplicate {
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
		_, err := s.Create(ctx, models.NewUser{Name: "ada", Email: "ada"})
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
	for conflict, want := range map[models.Conflict]error{models.ConflictFails: nil, skips: models.ErrNotUnique, updates: models.ErrNotUnique} {
		if _, err := s.Import(ctx, lines(file("n:ada", "n:ada")), models.ImportOptions{OnConflict: conflict}); !errors.Is(err, want) {
			t.Errorf("with the option %d an import returns %v", conflict, err)
		}
	}
	query := models.Query{Equal: values(s.fields, "email", "ada"), Limit: 2}
	if page, err := s.Page(ctx, query); page != nil || err != nil || len(s.ids(t, query)) != 2 {
		t.Errorf("by email, %v is in memory, %v", page, err)
	}
	s.expectTable(t, "afterwards", other)
}

// Whatever triggers insert elsewhere, the id of a creation is the user's.
func TestTheIDOfACreationIsTheUsers(t *testing.T) {
	t.Parallel()
	s, other := openTable(t, odd, "CREATE TABLE before (no INTEGER PRIMARY KEY, what)", "CREATE TABLE after (no INTEGER PRIMARY KEY, what)",
		"CREATE TRIGGER a AFTER INSERT ON users BEGIN INSERT INTO after VALUES (new.id + 1000, new.name); END",
		"CREATE TRIGGER b BEFORE INSERT ON users BEGIN INSERT INTO before VALUES (NULL, new.name); END",
		`CREATE TRIGGER c AFTER INSERT ON users WHEN new.email NOT LIKE '%copy' BEGIN
			INSERT INTO users (name, email) VALUES (new.name, new.email || ' copy'); END`)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			email := fmt.Sprint(i)
			id, err := s.Create(ctx, models.NewUser{Name: "n", Email: email})
			if user, failed := s.Get(ctx, id); err != nil || failed != nil || user.Email != email {
				t.Errorf("%s is answered with the id %d, which is %+v, %v", email, id, user, err)
			}
		})
	}
	wait.Wait()
	s.expectTable(t, "afterwards", other)
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

// lockedOut returns a storage with a creation that waits for another program's lock, and how it ends.
func lockedOut(t *testing.T) (s *storage, other *sql.DB, created chan error) {
	t.Helper()
	s, other = openTable(t, odd)
	s.create(t, "before")
	s.list(t)
	run(t, other, "INSERT INTO users (name, email) VALUES ('other', 'other')", "BEGIN IMMEDIATE")
	created = make(chan error, 1)
	go func() {
		_, err := s.Create(ctx, models.NewUser{Name: "n", Email: "e"})
		created <- err
	}()
	return s, other, created
}

// arriving tells when a write waits for a commit to begin.
type arriving struct {
	context.Context
	waits chan<- bool
}

func (a arriving) Done() <-chan struct{} {
	select {
	case a.waits <- true:
	default:
	}
	return a.Context.Done()
}

// The context of a write ends its wait for the commit under way, and nothing is stored.
func TestTheContextOfAWriteEndsItsWaitForACommitToBegin(t *testing.T) {
	t.Parallel()
	const n = 2000
	s, other, created := lockedOut(t)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	errs, arrived := make(chan error, n), make(chan bool, n)
	for i := range n {
		go func() {
			_, err := s.Create(arriving{waiting, arrived}, models.NewUser{Name: "n", Email: fmt.Sprint(i)})
			errs <- err
		}()
	}
	for range n {
		<-arrived
	}
	cancel()
	stored := 3         // with those of lockedOut
	for range n - 512 { // while the lock is held; the others may share the commit that waits for it
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatalf("a write that does not wait any more: %v", err)
		}
	}
	run(t, other, "COMMIT")
	for range 512 {
		switch err := <-errs; {
		case err == nil:
			stored++
		case !errors.Is(err, context.Canceled):
			t.Error(err)
		}
	}
	if err, users := <-created, s.stored(t); err != nil || len(users) != stored {
		t.Errorf("%d users should be stored, and there are %d, %v", stored, len(users), err)
	}
}

// A client may leave while the commit of its import is under way: what the import says must be what is stored.
func TestAnImportThatIsCommittedIsNotReportedAsCancelled(t *testing.T) {
	t.Parallel()
	for tries := 0; !leaveDuringCommit(t); tries++ {
		if tries == 50 {
			t.Fatal("the client never left before the end")
		}
	}
}

// leaveDuringCommit reports whether the client left before its import ended.
func leaveDuringCommit(t *testing.T) (left bool) {
	t.Helper()
	const n = 30_000 // some megabytes, which fit into the page cache, so that the -wal file is written by the commit
	s := sqlite.open(t, plain())
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	go func() {
		for leaving.Err() == nil {
			if wal, err := os.Stat(s.at.Path + "-wal"); err == nil && wal.Size() > 1<<20 {
				leave()
			}
			runtime.Gosched()
		}
	}()
	done, err := s.Import(leaving, func(yield func(models.ImportRow, error) bool) {
		for i := range n {
			row := models.ImportRow{Line: i + 2, Values: values(s.fields, "name", "N", "email", fmt.Sprint("e", i))}
			if !yield(row, nil) {
				return
			}
		}
	}, models.ImportOptions{})
	left = leaving.Err() != nil
	stored, failed := s.Count(ctx, models.Query{})
	if failed != nil || int(stored) != done.Created || (err == nil) != (stored == n) {
		t.Errorf("%d users are stored (%v), and the import says %d, %v", stored, failed, done.Created, err)
	}
	return left
}
