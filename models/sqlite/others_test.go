package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

var ctx = context.Background()

// otherProgram opens the database of users as another program does: on a connection that is none of the pool's.
func otherProgram(t testing.TB, users *Users) *sql.DB {
	t.Helper()
	return sqlitetest.Open(t, users.writer.files.database.path)
}

// openTable opens a database that another program has made with these statements.
func openTable(t testing.TB, listMemory int, statements ...string) (*Users, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "users.db")
	other := sqlitetest.Open(t, path)
	sqlitetest.Run(t, other, statements...)
	users, err := Open(ctx, path, storetest.Fields(), listMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = users.Close(ctx) })
	return users, other
}

// Whatever another program does beside us, the list is what the file holds.
func TestTheListIsWhatTheFileHoldsWhateverAnotherProgramDoes(t *testing.T) {
	t.Parallel()
	var users *Users
	open := func(t testing.TB, fields models.Fields) models.Users {
		users = openWith(t, fields, 2<<20)
		return users
	}
	storetest.Random(t, open, traits, func(m *storetest.Machine) map[string]func(*rapid.T) {
		other := &another{Machine: m, db: otherProgram(t, users), fields: users.fields}
		return map[string]func(*rapid.T){
			"another creates": other.create, "another changes": other.change, "another deletes": other.delete,
			"another creates, and page": m.AndPage(other.create), "another changes, and page": m.AndPage(other.change),
			"another adds a trigger": other.addTrigger, "another drops it": other.dropTrigger,
		}
	})
}

// another is a program that writes the same file.
type another struct {
	*storetest.Machine
	db      *sql.DB
	fields  models.Fields
	created int
}

func (a *another) create(r *rapid.T) {
	a.created++
	id := rapid.SampledFrom([]string{"NULL", "(SELECT min(id) - 2000 FROM users)", "(SELECT max(id) + 2000 FROM users)"}).Draw(r, "id")
	user := models.User{NewUser: models.NewUser{Name: "another", Email: fmt.Sprint("another", a.created)}}
	row := a.db.QueryRow("INSERT INTO users (id, name, email) VALUES ("+id+", ?, ?) RETURNING id, created_at || ''", user.Name, user.Email)
	if err := row.Scan(&user.ID, &user.CreatedAt); err != nil {
		r.Fatal(err)
	}
	a.Note(user)
}

func (a *another) change(r *rapid.T) {
	user, field := a.Any(r), rapid.SampledFrom(a.fields).Draw(r, "field")
	if field.Unique {
		r.Skip("another user may have the email")
	}
	text := storetest.Names(r, "value")
	if _, err := a.db.Exec("UPDATE users SET `"+field.Name+"` = ? WHERE id = ?", text, user.ID); err != nil {
		r.Fatal(err)
	}
	user.NewUser = storetest.With(a.fields, user.NewUser, storetest.ValuesOf(a.fields, field.Name, text))
	a.Note(user)
}

func (a *another) delete(r *rapid.T) {
	id := a.Any(r).ID
	if _, err := a.db.Exec("DELETE FROM users WHERE id = ?", id); err != nil {
		r.Fatal(err)
	}
	a.Note(models.User{ID: id})
}

// addTrigger adds a trigger that changes no user but makes each of our writes go the other way.
func (a *another) addTrigger(r *rapid.T) {
	sqlitetest.Run(r, a.db, "CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON users BEGIN SELECT 1; END")
}

func (a *another) dropTrigger(r *rapid.T) { sqlitetest.Run(r, a.db, "DROP TRIGGER IF EXISTS t") }

// What a rule of the table does to a write, and how many rows it may leave in the table log.
func TestAWriteThatARuleRefusesLeavesNoTrace(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at)"
	const logs = "CREATE TABLE log (what UNIQUE ON CONFLICT FAIL)"
	for name, schema := range map[string][]string{
		"INSERT OR FAIL in a trigger": {table, "CREATE TABLE log (what UNIQUE)", "INSERT INTO log VALUES ('bad')",
			"CREATE TRIGGER i AFTER INSERT ON users BEGIN INSERT OR FAIL INTO log VALUES (new.name); END",
			"CREATE TRIGGER u AFTER UPDATE ON users BEGIN INSERT OR FAIL INTO log VALUES (new.name); END",
			"CREATE TRIGGER d AFTER DELETE ON users BEGIN INSERT OR FAIL INTO log VALUES ('bad'); END"},
		"a table in another letter case": {`CREATE TABLE "Users" (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at)`,
			"CREATE TABLE log (what)", "INSERT INTO log VALUES ('bad')",
			"CREATE TRIGGER i AFTER INSERT ON Users WHEN new.name = 'bad' BEGIN INSERT INTO log VALUES (1); SELECT RAISE(FAIL, 'no'); END",
			"CREATE TRIGGER u AFTER UPDATE ON Users WHEN new.name = 'bad' BEGIN INSERT INTO log VALUES (1); SELECT RAISE(FAIL, 'no'); END",
			"CREATE TRIGGER d AFTER DELETE ON Users BEGIN INSERT INTO log VALUES (1); SELECT RAISE(FAIL, 'no'); END"},
		"a table that says ON CONFLICT FAIL": {table, logs, "INSERT INTO log VALUES ('bad')",
			"CREATE TRIGGER i AFTER INSERT ON users BEGIN INSERT INTO log VALUES (new.name); END",
			"CREATE TRIGGER u AFTER UPDATE ON users BEGIN INSERT INTO log VALUES (new.name); END",
			"CREATE TRIGGER d AFTER DELETE ON users BEGIN INSERT INTO log VALUES ('bad'); END"},
		"a trigger that rolls everything back": {table, "CREATE TABLE log (what)", "INSERT INTO log VALUES ('bad')",
			"CREATE TRIGGER i AFTER INSERT ON users WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
			"CREATE TRIGGER u AFTER UPDATE ON users WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
			"CREATE TRIGGER d AFTER DELETE ON users BEGIN SELECT RAISE(ROLLBACK, 'no'); END"},
		"a trigger that ignores": {table, "CREATE TABLE log (what)", "INSERT INTO log VALUES ('bad')",
			"CREATE TRIGGER i BEFORE INSERT ON users WHEN new.name = 'bad' BEGIN SELECT RAISE(IGNORE); END",
			"CREATE TRIGGER u BEFORE UPDATE ON users WHEN new.name = 'bad' BEGIN SELECT RAISE(IGNORE); END",
			"CREATE TRIGGER d BEFORE DELETE ON users BEGIN INSERT INTO log VALUES ('deleted'); SELECT RAISE(IGNORE); END"},
	} {
		t.Run(name, func(t *testing.T) {
			users, other := openTable(t, 1<<20, schema...)
			good := storetest.Create(t, users, "good")
			before, _ := storetest.Text(t, users)
			var logged int
			if err := other.QueryRow("SELECT count(*) FROM log").Scan(&logged); err != nil {
				t.Fatal(err)
			}
			bad := "bad"
			_, create := users.Create(ctx, models.NewUser{Name: bad, Email: "new"})
			_, change := users.Change(ctx, good, storetest.Values("name", bad), nil)
			for what, err := range map[string]error{"creating": create, "changing": change, "deleting": users.Delete(ctx, good, nil)} {
				if err == nil {
					t.Errorf("%s was not refused", what)
				}
			}
			var after int
			if err := other.QueryRow("SELECT count(*) FROM log").Scan(&after); err != nil || after != logged {
				t.Errorf("the refused writes left %d rows in the log, %v", after-logged, err)
			}
			if text, _ := storetest.Text(t, users); text != before {
				t.Errorf("the list was %s and is %s", before, text)
			}
			if name != "a trigger that rolls everything back" && name != "a trigger that ignores" {
				storetest.Create(t, users, "another good one")
			}
		})
	}
}

// A clause ON CONFLICT REPLACE lets a write take away a user that no request named.
func TestAUserThatIsReplacedIsNotListed(t *testing.T) {
	storetest.OneGoroutine(t)
	t.Parallel()
	users, _ := openTable(t, 1<<20, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE ON CONFLICT REPLACE, created_at)")
	storetest.Create(t, users, "ada")
	for i := range 3000 { // so that the two are in different pieces of the list
		storetest.Create(t, users, fmt.Sprint(i))
	}
	storetest.Text(t, users)
	id := storetest.Create(t, users, "ada")
	text, _ := storetest.Text(t, users)
	if strings.Count(text, `"ada"`) != 2 || !strings.Contains(text, fmt.Sprintf(`{"id":%d,"name":"ada"`, id)) { // name and email
		t.Errorf("the list is %.200s", text)
	}
}
