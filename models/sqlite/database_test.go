package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

// The version of SQLite matters: those before 3.51.3 can corrupt a database when its -wal file is reset.
func TestSQLiteIsNewEnough(t *testing.T) {
	t.Parallel()
	var version string
	if err := otherProgram(t, openUsers(t, 0)).QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil || major*1_000_000+minor*1000+patch < 3_051_003 {
		t.Errorf("SQLite is %s", version)
	}
}

// What durability rests on is asked of every connection that is open.
func TestEveryConnectionIsDurable(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	all := []*dbfile.Connection{users.writer.conn.Connection, users.source.conn.Connection, users.writer.checkpoints.conn}
	for range maxReaders {
		conn := <-users.reader.free
		all = append(all, conn.Connection)
		users.reader.free <- conn
	}
	for i, conn := range all {
		waits := "5000"
		if i == 0 || i == 2 {
			waits = "50" // the writer waits by itself, and a checkpoint holds up commits
		}
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "temp_store": "2", "busy_timeout": waits,
		} {
			if got, err := conn.Setting(pragma); got != want || err != nil {
				t.Errorf("connection %d has %s = %s, %v", i, pragma, got, err)
			}
		}
	}
}

// A start waits for another program's lock as long as it says, and not at all once its context has ended.
func TestAStartWaitsForALockAsLongAsItSays(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	path := users.writer.files.database.path
	sqlitetest.Run(t, otherProgram(t, users), "BEGIN IMMEDIATE")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	if _, err := Open(ended, path, storetest.Fields(), 0); !errors.Is(err, context.Canceled) || time.Since(began) > dbfile.BusyTimeout/2 {
		t.Errorf("after its context had ended a start took %s: %v", time.Since(began), err)
	}
	began = time.Now()
	_, err := Open(ctx, path, storetest.Fields(), 0)
	if took := time.Since(began); took < dbfile.BusyTimeout*9/10 || took > dbfile.BusyTimeout*17/10 {
		t.Errorf("it waited %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "locked by another program for more than 5s") {
		t.Errorf("the error is %v", err)
	}
}

func TestManyStartsAtOnceMakeOneTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "users.db")
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			users, err := Open(ctx, path, storetest.Fields(), 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer users.Close(ctx) //nolint:errcheck // others have it open
			storetest.Create(t, users, fmt.Sprint(i))
		})
	}
	wait.Wait()
}

func TestAStartLeavesATableAsItIs(t *testing.T) {
	t.Parallel()
	const schema = "CREATE TABLE \"Users\" (Id INTEGER PRIMARY KEY, -- the id\n name VARCHAR(20), email TEXT, created_at TEXT)"
	users, other := openTable(t, 0, schema, "PRAGMA user_version = 7")
	var sql string
	var version int
	if err := other.QueryRow("SELECT sql FROM sqlite_master").Scan(&sql); err != nil || sql != schema {
		t.Errorf("the table is %s, %v", sql, err)
	}
	if err := other.QueryRow("PRAGMA user_version").Scan(&version); err != nil || version != 7 {
		t.Errorf("user_version is %d, %v", version, err)
	}
	storetest.Create(t, users, "ada@example.org")
}

// A file that may not be written ends the start, also where SQLite would open it for reading.
func TestAStartProvesThatItCanWrite(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything: the tests of the program try this as another user")
	}
	users := openUsers(t, 0)
	path := users.writer.files.database.path
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, storetest.Fields(), 0); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("the error is %v", err)
	}
}

func TestADatabaseThatIsOpenedReadOnlyIsRefused(t *testing.T) {
	t.Parallel()
	users := openUsers(t, 0)
	conn, err := dbfile.Open(users.writer.files.database.path, dbfile.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := createTable(conn, models.NewFields()); dbfile.PrimaryCode(err) != dbfile.CodeReadOnly {
		t.Errorf("the start goes on: %v", err)
	}
}

func TestASettingThatSQLiteDidNotTakeEndsTheStart(t *testing.T) {
	t.Parallel()
	path := openUsers(t, 0).writer.files.database.path
	for _, other := range []string{"synchronous(NORMAL)", "busy_timeout(7)"} {
		conn, err := dbfile.Open(path, dbfile.ReadWrite, append(pragmas(dbfile.BusyTimeout), other)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := verify(conn); err == nil {
			t.Errorf("with %s the start goes on", other)
		}
		conn.Close()
	}
}

func TestOnlyTheEmailsOwnConstraintIsADuplicate(t *testing.T) {
	t.Parallel()
	users, _ := openTable(t, 0, "CREATE TABLE users (id INTEGER PRIMARY KEY, name UNIQUE CHECK (name <> 'bad'), email UNIQUE, created_at)")
	storetest.Create(t, users, "ada")
	for name, test := range map[string]struct {
		user      models.NewUser
		code      string
		duplicate bool
	}{
		"the email":  {models.NewUser{Name: "x", Email: "ada"}, "2067", true},
		"the name":   {models.NewUser{Name: "ada", Email: "x"}, "2067", false},
		"some check": {models.NewUser{Name: "bad", Email: "x"}, "275", false},
	} {
		_, err := users.Create(ctx, test.user)
		failed, ok := errors.AsType[*models.StorageError](err)
		if !ok || failed.Code != test.code || failed.Duplicate != test.duplicate || failed.Meaning == "" {
			t.Errorf("%s: %#v", name, err)
		}
	}
}

// Whatever another program stored, a user is shown as SQLite turns it into a whole number and texts.
func TestAUserOfAnotherProgramIsShownAsSQLiteConvertsIt(t *testing.T) {
	t.Parallel()
	users, other := openTable(t, 1<<20, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at DATETIME)",
		"INSERT INTO users VALUES (-3, NULL, NULL, NULL), (5, 1500000.0, x'c3a9', '2024-01-02T03:04:05+02:00'), (6, 1e300, -0.0, 1.5)",
		"INSERT INTO users VALUES (7, CAST(x'ff' AS TEXT), char(0x2028), 'yesterday')")
	list, _ := storetest.Text(t, users)
	for _, id := range []int64{-3, 5, 6, 7} {
		want := models.User{ID: id}
		if err := other.QueryRow("SELECT COALESCE(name || '', ''), COALESCE(email || '', ''), COALESCE(created_at || '', '') "+
			"FROM users WHERE id = ?", id).Scan(&want.Name, &want.Email, &want.CreatedAt); err != nil {
			t.Fatal(err)
		}
		want.CreatedAt = models.ShownTime(want.CreatedAt)
		if user, err := users.Get(ctx, id); err != nil || !storetest.Same(user, want) {
			t.Errorf("got %+v, %v, want %+v", user, err, want)
		}
		if json := string(storetest.Fields().AppendUser(nil, &want)); !strings.Contains(list, json) {
			t.Errorf("the list is %s, without %s", list, json)
		}
	}
}
