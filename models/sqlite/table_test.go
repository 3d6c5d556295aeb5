package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"users-api/models"
	"users-api/models/sqlite/sqlitetest"
	"users-api/models/storetest"
)

func TestATableThatCannotBeServedEndsTheStart(t *testing.T) {
	t.Parallel()
	for _, table := range sqlitetest.RefusedTables {
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "users.db")
			sqlitetest.Run(t, sqlitetest.Open(t, path), table.Schema...)
			users, err := Open(ctx, path, storetest.Fields(), 0)
			if err == nil {
				_ = users.Close(ctx)
			}
			sqlitetest.ExpectCannotServe(t, "the start", err, table.Why)
		})
	}
}

// Another program may put any table in the place of the one that was served, and another one after it.
func TestATableThatCannotBeServedAnyMoreIsAnError(t *testing.T) {
	t.Parallel()
	for _, table := range sqlitetest.RefusedTables {
		t.Run(table.Name, func(t *testing.T) {
			t.Parallel()
			users := openUsers(t, 1<<20)
			other := otherProgram(t, users)
			id := storetest.Create(t, users, "before")
			storetest.Text(t, users)
			sqlitetest.Run(t, other, append([]string{"DROP TABLE users"}, table.Schema...)...)
			for what, err := range everyRequest(users, id) {
				sqlitetest.ExpectCannotServe(t, what, err, table.Why)
			}
			sqlitetest.Run(t, other, "DROP "+map[bool]string{true: "VIEW", false: "TABLE"}[table.Why == "it is a view"]+" users", sqlitetest.Table)
			id = storetest.Create(t, users, "after")
			for what, err := range everyRequest(users, id) {
				if err != nil {
					t.Errorf("on an ordinary table again, %s: %v", what, err)
				}
			}
		})
	}
}

// everyRequest returns what each method says of the user with an id, whom the last deletes.
func everyRequest(users *Users, id int64) func(yield func(string, error) bool) {
	name := "changed"
	do := []struct {
		what string
		run  func() error
	}{
		{"the list", func() error { return users.List(ctx, func(models.List) error { return nil }) }},
		{"reading one", func() error { _, err := users.Get(ctx, id); return err }},
		{"counting", func() error { _, err := users.Count(ctx, models.Query{}); return err }},
		{"searching", func() error { return lastError(users, models.Query{Contains: "e", Limit: 1}) }},
		{"exporting", func() error { return users.Export(ctx, models.Query{}, func(models.Export) error { return nil }) }},
		{"creating", func() error { _, err := users.Create(ctx, models.NewUser{Name: "n", Email: "created"}); return err }},
		{"changing", func() error { _, err := users.Change(ctx, id, storetest.Values("name", name), nil); return err }},
		{"importing", func() error {
			_, err := users.Import(ctx, storetest.Rows(models.NewUser{Name: "n", Email: "imported"}), models.ImportOptions{})
			return err
		}},
		{"deleting", func() error { return users.Delete(ctx, id, nil) }},
	}
	return func(yield func(string, error) bool) {
		for _, request := range do {
			if !yield(request.what, request.run()) {
				return
			}
		}
	}
}

// lastError returns the error that comes after the users that a query asks for.
func lastError(users *Users, query models.Query) (last error) {
	for _, err := range users.Select(ctx, query) {
		last = err
	}
	return last
}

// Whatever triggers insert elsewhere, before or after, the id of a creation is the user's.
func TestTheIDOfACreationIsTheUsersWhateverTriggersInsert(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name, email UNIQUE, created_at)"
	const log = "CREATE TABLE log (no INTEGER PRIMARY KEY, what UNIQUE)"
	for name, schema := range map[string][]string{
		"after":  {table, log, "CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO log VALUES (new.id + 1000, new.name); END"},
		"before": {table, log, "CREATE TRIGGER t BEFORE INSERT ON users BEGIN INSERT INTO log VALUES (NULL, new.name); END"},
		"an index for searches": {table, "CREATE VIRTUAL TABLE words USING fts5(name, email, content = users, content_rowid = id)",
			"INSERT INTO words (words, rank) VALUES ('automerge', 2)",
			`CREATE TRIGGER t AFTER INSERT ON users BEGIN
				INSERT INTO words (rowid, name, email) VALUES (new.id, new.name, new.email); END`},
		"another user": {table, `CREATE TRIGGER t AFTER INSERT ON users WHEN new.email NOT LIKE '%copy' BEGIN
			INSERT INTO users (name, email) VALUES (new.name, new.email || ' copy'); END`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, _ := openTable(t, 1<<20, schema...)
			for i := range 20 {
				storetest.Text(t, users)
				email := fmt.Sprint(i)
				id := storetest.Create(t, users, email)
				if user, err := users.Get(ctx, id); err != nil || user.Email != email {
					t.Errorf("%s is answered with the id %d, which is %+v, %v", email, id, user, err)
				}
				expectWhole(t, users)
			}
		})
	}
}

// What a rule of the table ignores was not stored, whatever id an earlier creation got, and whatever was written beside it.
func TestACreationThatIsIgnoredIsNotAnsweredWithAnotherID(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string][]string{
		"a trigger for emails that are known": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)",
			"CREATE TABLE log (no INTEGER PRIMARY KEY, what)",
			`CREATE TRIGGER t BEFORE INSERT ON users WHEN EXISTS (SELECT 1 FROM users WHERE email = new.email) BEGIN
				INSERT INTO log VALUES (1, new.email); SELECT RAISE(IGNORE); END`},
		"a clause of the column": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email UNIQUE ON CONFLICT IGNORE, created_at)",
			"CREATE TABLE log (no INTEGER PRIMARY KEY, what)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, other := openTable(t, 1<<20, schema...)
			storetest.Create(t, users, "ada")
			if id, err := users.Create(ctx, models.NewUser{Name: "again", Email: "ada"}); !errors.Is(err, models.ErrIgnored) {
				t.Errorf("it is answered with the id %d, %v", id, err)
			}
			var left int
			if err := other.QueryRow("SELECT count(*) FROM log").Scan(&left); left != 0 || err != nil {
				t.Errorf("%d rows are left in the log, %v", left, err)
			}
			expectSound(t, users, 1)
		})
	}
}

// Only what an index on the email alone refuses is the email of another user.
func TestADuplicateIsOfTheEmailAlone(t *testing.T) {
	t.Parallel()
	const table = "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at, left_at "
	for name, test := range map[string]struct {
		schema    []string
		duplicate bool
	}{
		"the column":          {[]string{table + ", UNIQUE (email))"}, true},
		"another letter case": {[]string{`CREATE TABLE "Users" (ID INTEGER PRIMARY KEY, Name, EMail UNIQUE, created_at)`}, true},
		"an index":            {[]string{table + ")", "CREATE UNIQUE INDEX i ON users (email)"}, true},
		"a partial index":     {[]string{table + ")", "CREATE UNIQUE INDEX i ON users (email) WHERE left_at IS NULL"}, true},
		"with the name":       {[]string{table + ", UNIQUE (email, name))"}, false},
		"behind the name":     {[]string{table + ", UNIQUE (name, email))"}, false},
		"the name":            {[]string{table + ", UNIQUE (name))"}, false},
		"the email of a team": {[]string{table + ")", "CREATE TABLE team_users (email UNIQUE)",
			"CREATE TRIGGER t AFTER INSERT ON users BEGIN INSERT INTO team_users VALUES (new.email); END",
			"CREATE TRIGGER u AFTER UPDATE ON users BEGIN INSERT INTO team_users VALUES (new.email); END"}, false},
		"a check that names it": {[]string{table + ", CONSTRAINT [unique constraint failed: users.email] CHECK (id < 3 AND (id < 2 OR email <> 'e')))"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users, _ := openTable(t, 0, test.schema...)
			create := func(name, email string) (int64, error) {
				return users.Create(ctx, models.NewUser{Name: name, Email: email})
			}
			_, first := create("n", "e")
			second, err := create("other", "other")
			if err = errors.Join(first, err); err != nil {
				t.Fatal(err)
			}
			_, creation := create("n", "e")
			same, email := "n", "e"
			_, change := users.Change(ctx, second, storetest.Values("name", same, "email", email), nil)
			for what, err := range map[string]error{"creation": creation, "change": change} {
				failed, ok := errors.AsType[*models.StorageError](err)
				if !ok || failed.Duplicate != test.duplicate {
					t.Errorf("the %s is refused with %+v", what, err)
				}
			}
		})
	}
}
