package models_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
)

const (
	odd    = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE, created_at)"
	noKeys = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)"
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

// expectTable expects that lists, pages, single users and exports are what another program reads from the table.
func (s *storage) expectTable(t testing.TB, when string, other *sql.DB) {
	t.Helper()
	rows, err := other.Query("SELECT id, coalesce(name, ''), coalesce(email, ''), coalesce(created_at || '', '') FROM users ORDER BY id")
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer rows.Close() //nolint:errcheck // it was only read
	var texts []string
	for rows.Next() {
		var want models.User
		if err := rows.Scan(&want.ID, &want.Name, &want.Email, &want.CreatedAt); err != nil {
			t.Fatal(err)
		}
		want.CreatedAt = models.ShownTime(want.CreatedAt)
		texts = append(texts, string(s.fields.AppendUser(nil, &want)))
		if got, err := s.Get(ctx, want.ID); !s.same(got, want) || err != nil {
			t.Errorf("%s: the user is %v, %v, want %v", when, got, err, want)
		}
		page, err := s.Page(ctx, models.Query{Equal: values(s.fields, "email", want.Email), Limit: 1})
		if err != nil || page != nil && string(page.JSON) != "["+texts[len(texts)-1]+"]" {
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
				"DROP TRIGGER t; DROP TRIGGER u", "REPLACE INTO users (id, name, email) VALUES (20, 'replaced', '21')",
				"ALTER TABLE users RENAME TO old; CREATE TABLE users (created_at, email UNIQUE, name, id INTEGER PRIMARY KEY); " +
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
	s, other := openTable(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE ON CONFLICT REPLACE, created_at)",
		"INSERT INTO users (name, email) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000) SELECT 'n', i FROM n")
	s.list(t)
	s.create(t, "1")
	s.expectTable(t, "after a creation that replaces", other)
}

func TestATableOfAnotherProgramIsServedAsItIs(t *testing.T) {
	t.Parallel()
	const schema = "CREATE TABLE \"Users\" (Id INTEGER PRIMARY KEY, -- the id\n name VARCHAR(20), EMail TEXT UNIQUE, created_at TEXT, age INT DEFAULT 7)"
	s, other := openTable(t, schema, "INSERT INTO users VALUES (-3, NULL, NULL, NULL, 1), (5, 1500000.0, x'c3a9', '2024-01-02T03:04:05+02:00', 2), "+
		"(6, CAST(x'ff' AS TEXT), char(0x2028), 'yesterday', 3), (0, 'zero', 'zero', 1.5, 4)")
	s.expectTable(t, "at first", other)
	for _, id := range []int64{0, -3} {
		if user, err := s.Change(ctx, id, values(s.fields, "name", "changed"), nil); user.Name != "changed" || user.ID != id || err != nil {
			t.Errorf("%d is %v, %v", id, user, err)
		}
	}
	s.create(t, "ada")
	_, err := s.Create(ctx, models.NewUser{Name: "n", Email: "ada"})
	expectDuplicate(t, "an email in a column of another letter case", err)
	s.expectTable(t, "after writes", other)
	if err := errors.Join(s.Delete(ctx, 0, nil), s.Delete(ctx, -3, nil)); err != nil {
		t.Error(err)
	}
	var got string
	if err := other.QueryRow("SELECT sql || (SELECT sum(age) FROM users) FROM sqlite_schema WHERE type = 'table'").Scan(&got); err != nil || !strings.HasPrefix(got, strings.TrimSuffix(schema, ")")) || !strings.HasSuffix(got, ")12") {
		t.Errorf("the table is %s, %v", got, err)
	}
}

func TestATableThatCannotBeServedEndsTheStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, why string }{
		"a view":          {"CREATE VIEW users AS SELECT 1 AS id, 2 AS name, 3 AS email, 4 AS created_at", "it is a view"},
		"a virtual table": {"CREATE VIRTUAL TABLE users USING fts5(id, name, email, created_at)", "it is a virtual table"},
		"WITHOUT ROWID":   {strings.TrimSuffix(odd, ")") + ") WITHOUT ROWID", "WITHOUT ROWID"},
		"another type":    {strings.Replace(odd, "INTEGER", "INT", 1), "its id is no INTEGER PRIMARY KEY"},
		"descending":      {strings.Replace(odd, "KEY", "KEY DESC", 1), "its id is no INTEGER PRIMARY KEY"},
		"no key":          {strings.Replace(odd, " PRIMARY KEY", "", 1), "its id is no INTEGER PRIMARY KEY"},
		"a key of two":    {"CREATE TABLE users (id INTEGER, name, email, created_at, PRIMARY KEY (id, name))", "its id is no INTEGER PRIMARY KEY"},
		"no times":        {strings.Replace(odd, ", created_at", "", 1), "created_at"},
	} {
		at := models.Database{Path: filepath.Join(t.TempDir(), "users.db"), Fields: plain()}
		run(t, sqlite.other(t, at), test.schema)
		users, err := at.Open(ctx, 0)
		if err == nil {
			_ = users.Close(ctx)
		}
		if err == nil || !strings.Contains(err.Error(), "the table users ") || !strings.Contains(err.Error(), test.why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the start: %v", name, err)
		}
	}
}

// What a rule of the table refuses is told with SQLite's text, leaves no trace, and refuses no other write.
func TestAWriteThatARuleRefusesLeavesNoTrace(t *testing.T) {
	t.Parallel()
	const logs = "CREATE TABLE log (what UNIQUE); INSERT INTO log VALUES ('bad')"
	for name, does := range map[string]string{
		"a trigger that aborts":               "INSERT INTO log VALUES (1); SELECT RAISE(ABORT, 'no')",
		"a trigger that fails":                "INSERT INTO log VALUES (1); SELECT RAISE(FAIL, 'no')",
		"a trigger whose own statement fails": "INSERT INTO log VALUES (1); INSERT INTO log VALUES ('bad')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, other := openTable(t, odd, logs,
				"CREATE TRIGGER i BEFORE INSERT ON users WHEN new.name = 'bad' BEGIN "+does+"; END",
				"CREATE TRIGGER u BEFORE UPDATE ON users WHEN new.name = 'bad' BEGIN "+does+"; END",
				"CREATE TRIGGER d BEFORE DELETE ON users WHEN old.name = 'good' BEGIN "+does+"; END")
			good := s.create(t, "good")
			errs := make([]error, 40)
			var wait sync.WaitGroup
			for i := range errs {
				wait.Go(func() {
					switch i {
					case 3:
						errs[i] = s.rename(good, "bad")
					case 13:
						errs[i] = s.Delete(ctx, good, nil)
					default:
						name := map[bool]string{true: "bad", false: "fine"}[i%10 == 3]
						_, errs[i] = s.Create(ctx, models.NewUser{Name: name, Email: fmt.Sprint(i)})
					}
				})
			}
			wait.Wait()
			for i, err := range errs {
				failed := refusal(err)
				if isBad := i%10 == 3; (err != nil) != isBad || isBad && (failed == nil || failed.Code == "" || failed.Duplicate) {
					t.Errorf("write %d is answered %v", i, err)
				}
			}
			_, imported := s.Import(ctx, lines(file("fine:x", "bad:y", "fine:z")), models.ImportOptions{})
			if refused, ok := errors.AsType[*models.RefusedRows](imported); !ok || refused.Refused != 1 || refused.Listed[0].Line != 3 {
				t.Errorf("an import: %v", imported)
			}
			s.expectTable(t, "afterwards", other)
			var logged, users int
			err := other.QueryRow("SELECT (SELECT count(*) FROM log), (SELECT count(*) FROM users)").Scan(&logged, &users)
			if logged != 1 || users != 1+36 || err != nil {
				t.Errorf("there are %d users, and the refused writes left %d rows, %v", users, logged-1, err)
			}
		})
	}
}

// A trigger that rolls back undoes what the import has stored before: it must not go on with the rest, and count all.
func TestAnImportThatATriggerRollsBackStoresNothing(t *testing.T) {
	t.Parallel()
	s, other := openTable(t, odd, "CREATE TRIGGER t AFTER INSERT ON users WHEN (SELECT count(*) FROM users) > 10 BEGIN SELECT RAISE(ROLLBACK, 'full'); END")
	var rows []string
	for i := range 20 {
		rows = append(rows, fmt.Sprint("n:", i))
	}
	done, err := s.Import(ctx, lines(file(rows...)), models.ImportOptions{})
	if failed := refusal(err); failed == nil || !strings.Contains(failed.Text, "full") {
		t.Errorf("it is answered %+v, %v", done, err)
	}
	s.expectTable(t, "afterwards", other)
	if ids := s.ids(t, models.Query{}); len(ids) != 0 {
		t.Errorf("%d users are stored", len(ids))
	}
}

// What a trigger ignores was not stored, whatever was written beside it.
func TestACreationThatIsIgnoredIsNotAnswered(t *testing.T) {
	t.Parallel()
	s, other := openTable(t, odd, "CREATE TABLE log (what)",
		"CREATE TRIGGER t BEFORE INSERT ON users WHEN new.name = 'bad' BEGIN INSERT INTO log VALUES (1); SELECT RAISE(IGNORE); END")
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			name, want := "fine", error(nil)
			if i%7 == 3 {
				name, want = "bad", models.ErrIgnored
			}
			if id, err := s.Create(ctx, models.NewUser{Name: name, Email: fmt.Sprint(i)}); !errors.Is(err, want) {
				t.Errorf("creation %d is answered %d, %v", i, id, err)
			}
		})
	}
	wait.Wait()
	var logged int
	if err := other.QueryRow("SELECT count(*) FROM log").Scan(&logged); logged != 0 || err != nil {
		t.Errorf("%d rows are left in the log, %v", logged, err)
	}
	s.expectTable(t, "afterwards", other)
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

// Writes that ran no triggers leave the index for searches behind. The command makes it anew.
func TestTheIndexForSearchesIsMadeAnew(t *testing.T) {
	t.Parallel()
	s := sqlite.open(t, plain(), indexSearch)
	other := s.other(t, s.at)
	s.create(t, "ada@example.org")
	rows, err := other.Query("SELECT 'DROP TRIGGER ' || name, sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		t.Fatal(err)
	}
	var drops, creates []string
	for rows.Next() {
		var drop, create string
		if err := rows.Scan(&drop, &create); err != nil {
			t.Fatal(err)
		}
		drops, creates = append(drops, drop), append(creates, create)
	}
	if err := rows.Close(); err != nil || len(drops) == 0 {
		t.Fatalf("the triggers are %v, %v", creates, err)
	}
	run(t, other, drops...)
	run(t, other, "INSERT INTO users (name, email) VALUES ('n', 'alan@example.org')", "DELETE FROM users WHERE id = 1")
	run(t, other, creates...)
	s.reopen(t, indexSearch)
	for text, want := range map[string]int{"example": 1, "ALAN": 1, "ada@": 0} {
		if n, err := s.Count(ctx, models.Query{Contains: text}); int(n) != want || err != nil || len(s.ids(t, models.Query{Contains: text})) != want {
			t.Errorf("%s finds %d, %v", text, n, err)
		}
	}
}

func TestSeveralStartsAtOnceMakeOneTable(t *testing.T) {
	t.Parallel()
	at := models.Database{Path: filepath.Join(t.TempDir(), "data", "users.db"), Fields: plain()}
	all := make([]*models.Users, 8)
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			var err error
			if all[i], err = at.Open(ctx, 0); err == nil {
				_, err = all[i].Create(ctx, models.NewUser{Name: "n", Email: fmt.Sprint(i)})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i, users := range all {
		if n, err := users.Count(ctx, models.Query{}); n != int64(len(all)) || err != nil {
			t.Errorf("process %d finds %d users, %v", i, n, err)
		}
	}
	for _, users := range all {
		if err := users.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(at.Path)); len(files) != 1 || err != nil {
		t.Errorf("after the last stop there are %v, %v", files, err)
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

func TestAWriteThatWaitsForALockHoldsUpNoRead(t *testing.T) {
	t.Parallel()
	s, other, created := lockedOut(t)
	s.expectTable(t, "while a write waits", other)
	for range 200 { // until it waits, and beyond
		s.list(t)
		runtime.Gosched()
	}
	select {
	case err := <-created:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	run(t, other, "COMMIT")
	if err := <-created; err != nil {
		t.Error(err)
	}
	s.expectTable(t, "afterwards", other)
}

// A stop is not held up by another program's lock: what waits for it is refused when the stop's time is over.
func TestClosingInAHurryWaitsForNoLock(t *testing.T) {
	t.Parallel()
	s, _, created := lockedOut(t)
	over, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if err := s.Close(over); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %s, as long as a write waits for a lock", took)
	}
	if err := <-created; refusal(err) == nil {
		t.Errorf("the write that waited: %v", err)
	}
}

// arriving tells when a write waits for a place in the queue.
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

// A full queue makes a write wait, and its context ends the waiting; what was taken is done.
func TestTheContextOfAWriteEndsItsWaitForAFullQueue(t *testing.T) {
	t.Parallel()
	s, other, created := lockedOut(t)
	const n, most = 2000, 2*512 + 1 // one commit waits for the lock, and the queue is full
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
	for range n - most { // while the lock is held
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Fatalf("a write that does not wait any more: %v", err)
		}
	}
	run(t, other, "COMMIT")
	stored := 0
	for range most {
		switch err := <-errs; {
		case err == nil:
			stored++
		case !errors.Is(err, context.Canceled):
			t.Error(err)
		}
	}
	if err, users := <-created, s.stored(t); err != nil || len(users) != stored+3 {
		t.Errorf("%d writes were stored, and there are %d users, %v", stored, len(users), err)
	}
}

// An import holds the lock for long: creations that arrive meanwhile are done after it, and reads go on. A forced stop ends it.
func TestWritesThatArriveDuringAnImportAreDoneAfterIt(t *testing.T) {
	t.Parallel()
	for name, isForced := range map[string]bool{"it ends": false, "a stop is forced": true} {
		s := sqlite.open(t, plain())
		s.create(t, "before")
		created := make(chan error, 1)
		over, cancel := context.WithCancel(ctx)
		cancel()
		rows := func(yield func(models.ImportRow, error) bool) {
			for i := 0; i < 1200 || isForced; i++ { // a stop ends it
				if i == 1000 {
					go func() { _, err := s.Create(ctx, models.NewUser{Name: "n", Email: "meanwhile"}); created <- err }()
					if s.list(t); len(s.stored(t)) != 1 {
						t.Errorf("%s: another read sees a part of the import", name)
					}
					if isForced {
						go s.Close(over) //nolint:errcheck // the import says how it went
					}
				}
				if !yield(models.ImportRow{Line: i, Values: values(s.fields, "name", "n", "email", fmt.Sprint(i))}, nil) {
					return
				}
			}
		}
		done, err := s.Import(ctx, rows, models.ImportOptions{})
		creation := <-created
		switch {
		case isForced && !errors.Is(err, models.ErrClosed):
			t.Errorf("%s: %v", name, err)
		case !isForced && (done.Created != 1200 || err != nil || creation != nil || len(s.stored(t)) != 1202):
			t.Errorf("%s: %+v, %v, and the creation: %v", name, done, err, creation)
		}
		if wal := s.Stats().WALBytes; !isForced && wal > 1<<20 {
			t.Errorf("%s: the -wal file has %d bytes", name, wal)
		}
	}
}

// A file that is taken away is noticed, nothing is acknowledged from then on, and nothing is mixed with what takes its place.
func TestAFileThatIsRemovedOrReplacedIsNoticed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away     func(path string) error
		replaced bool
	}{
		"the -wal file is removed": {func(path string) error { return os.Remove(path + "-wal") }, false},
		"the file is moved":        {func(path string) error { return os.Rename(path, path+".moved") }, false},
		"the file is replaced":     {func(path string) error { return os.Rename(filepath.Join(filepath.Dir(path), "new"), path) }, true},
	} {
		for _, isWritten := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, and written: %t", name, isWritten), func(t *testing.T) {
				t.Parallel()
				s := sqlite.open(t, plain())
				s.create(t, "before")
				replacement := models.Database{Path: filepath.Join(filepath.Dir(s.at.Path), "new")}
				made := sqlite.other(t, replacement)
				if run(t, made, "PRAGMA journal_mode = DELETE", odd, "INSERT INTO users (name, email) VALUES ('new', 'another')"); made.Close() != nil {
					t.Fatal("it cannot be closed")
				}
				if err := test.away(s.at.Path); err != nil {
					t.Fatal(err)
				}
				if isWritten {
					_, create := s.Create(ctx, models.NewUser{Name: "n", Email: "lost"})
					for _, err := range []error{create, s.Delete(ctx, 1, nil)} {
						if !errors.Is(err, models.ErrReplaced) {
							t.Errorf("a write: %v", err)
						}
					}
					<-s.Replaced()
				}
				if err := s.Close(ctx); !errors.Is(err, models.ErrReplaced) {
					t.Errorf("closing: %v", err)
				}
				if !test.replaced {
					return
				}
				at := s.at
				if s := sqlite.openAt(t, at, plain()); !slices.Equal(s.stored(t), []string{"1 new:another"}) {
					t.Errorf("the users are %v", s.stored(t))
				}
			})
		}
	}
}
