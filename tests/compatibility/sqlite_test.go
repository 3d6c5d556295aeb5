//go:build !postgres

package compatibility

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// The tables of other programs.
var foreignSchemas = map[string]string{
	"as the Node service had it": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
		email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
	"in another letter case": `CREATE TABLE "Users" (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
		email TEXT UNIQUE, created_at DATETIME)`,
	"strict, with extra columns": `CREATE TABLE users (fax TEXT DEFAULT '-', id INTEGER PRIMARY KEY AUTOINCREMENT,
		name TEXT, email TEXT UNIQUE, created_at TEXT, updated_at TEXT DEFAULT CURRENT_TIMESTAMP) STRICT`,
}

// audits are what another program has beside its users: an index, and a trigger that notes creations.
var audits = []string{
	"CREATE INDEX by_name ON users (name)", "CREATE TABLE audit (what TEXT)",
	"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit VALUES (new.email); END",
}

// schemaOf returns the definitions of everything in a database.
func schemaOf(_ *testing.T, _ string, other *program.Other) string {
	return other.Ask("SELECT group_concat(type || name || sql, char(10)) FROM sqlite_master")
}

var oddTables = map[string]string{
	"text":        "(id INTEGER PRIMARY KEY, name TEXT, Fax TEXT, email TEXT, created_at TEXT)",
	"other types": "(id INTEGER PRIMARY KEY, name NCHAR(4), email CLOB, created_at DATE)",
}

var oddUsers = []oddUser{
	{"-3, NULL, NULL, NULL", `{"id":-3,"name":"","email":"","created_at":""}`, true},
	{"0, 1.5, 'é', 'now'", `{"id":0,"name":"1.5","email":"é","created_at":"now"}`, false},
	{"7, 'a' || char(31) || 'b', 'a' || char(0) || 'b', 1700000000",
		`{"id":7,"name":"a\u001fb","email":"a\u0000b","created_at":"1700000000"}`, false},
	{"8, '<&>\"', char(0x2028), '2024-01-02 03:04:05.678+02:00'",
		`{"id":8,"name":"<&>\"","email":"\u2028","created_at":"2024-01-02 01:04:05"}`, false},
	{"9223372036854775807, CAST(x'ff' AS TEXT), '', 'ab'",
		`{"id":9223372036854775807,"name":"\ufffd","email":"","created_at":"ab"}`, true},
}

// fieldTypes are types of columns that are served as fields.
var fieldTypes = []string{"TEXT", "varchar(2)", "CLOB"}

// Triggers store other users and rows, with ids of their own, before and after each creation.
func TestTheIDThatIsAnsweredIsTheOneThatIsStored(t *testing.T) {
	t.Parallel()
	p, _ := program.ServeFile(t, with(ordinaryID), "CREATE TABLE elsewhere (no INTEGER PRIMARY KEY, what)",
		"CREATE TRIGGER b BEFORE INSERT ON users BEGIN INSERT INTO elsewhere VALUES (NULL, new.name); END",
		`CREATE TRIGGER c AFTER INSERT ON users WHEN new.email NOT LIKE '%copy' BEGIN
			INSERT INTO users (name, email) VALUES (new.name, new.email || ' copy'); END`)
	var wait sync.WaitGroup
	for i := range 10 {
		wait.Go(func() {
			id := p.Create(t, "n", fmt.Sprint(i))
			p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Expect(t, 200, fmt.Sprintf(`{…"email":"%d",…`, i))
		})
	}
	wait.Wait()
	program.Expect(t, "how many users there are", len(p.List(t)), 20)
}

func TestWhatAnotherProgramStoresIsFoundAsItIsShown(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at DATETIME)")
	for _, created := range []string{"NULL", "'2026-01-02 03:04:05'", "'2026-01-02T03:04:06Z'", "'2026-01-02T03:04:05.9+02:00'", "'2026-01-02'",
		"'then'", "1767322000"} {
		other.Do("INSERT INTO users (name, email, created_at) VALUES ('Ada', NULL, " + created + ")")
	}
	for query, want := range map[string]string{
		"created_from=2026-01-02+03:04:05": "2 3 6", "created_from=2026-01-02T03:04:06Z": "3 6", "created_from=2026-01-02": "2 3 4 5 6",
		"created_to=2026-01-02+03:04:05": "4 5 7", "created_from=2026-01-02&created_to=2026-01-02+00:00:01": "5",
		"name=Ada": "1 2 3 4 5 6 7", "name=ADA": "", "name!=ADA": "1 2 3 4 5 6 7", "email=": "1 2 3 4 5 6 7", "email!=": "",
	} {
		ids := []int64{}
		for _, user := range p.Do(t, "GET", "/api/users?"+query, "").Users(t) {
			ids = append(ids, user.ID)
		}
		program.Expect(t, query, ids, "["+want+"]")
	}
}

// Other programs make columns and indexes that ignore the case, under names of their own.
func TestAnIndexThatIgnoresTheCaseOfEmailsIsFollowedWhateverItsName(t *testing.T) {
	t.Parallel()
	const plain, index = "(id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at DATETIME)", "; CREATE UNIQUE INDEX by_email ON users (email COLLATE NOCASE)"
	for name, table := range map[string]string{
		"of the column":   "(id INTEGER PRIMARY KEY, name TEXT, email TEXT COLLATE NOCASE UNIQUE, created_at DATETIME)",
		"of another name": plain + index,
	} {
		t.Run(name, func(t *testing.T) {
			p, other := program.ServeFile(t, strings.Split("CREATE TABLE users "+table, "; ")...)
			other.Do("INSERT INTO users (name, email) VALUES ('Ada', 'Ada@x'), ('Alan', 'alan@x')")
			for _, email := range []string{"Ada@x", "ADA@x"} {
				p.Do(t, "GET", "/api/users?email="+email, "").Expect(t, 200, `[{"id":1,…}]`)
				p.Do(t, "GET", "/api/users/"+email, "").Expect(t, 200, `{"id":1,…}`)
			}
			p.Do(t, "POST", "/api/users", program.Body("n", "aDA@x"), "Accept: application/problem+json").Expect(t, 409, `…"code":"email_used"}`)
			p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=1", "name,email\nAda L,ADA@X\n").
				Expect(t, 200, `{"created":0,"updated":1,"skipped":0,"deleted":1,…`)
			p.ExpectUsers(t, "Ada L")
		})
	}
}

// Only what an index on the email alone refuses is the email of another user.
func TestADuplicateIsOfTheEmailAlone(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"CREATE UNIQUE INDEX i ON users (email) WHERE name IS NOT NULL":                         "email_used",
		"CREATE UNIQUE INDEX i ON users (email, name)":                                          "storage_failed",
		"CREATE UNIQUE INDEX i ON users (name)":                                                 "value_used",
		"CREATE TRIGGER i AFTER INSERT ON users BEGIN INSERT INTO team VALUES (new.email); END": "storage_failed",
	} {
		p, _ := program.ServeFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at DATETIME)",
			"CREATE TABLE team (email UNIQUE)", rule)
		p.Create(t, "Ada", "ada")
		again := p.Do(t, "POST", "/api/users", program.Body("Ada", "ada"), "Accept: application/problem+json").To(rule)
		again.Expect(t, map[bool]int{true: 500, false: 409}[want == "storage_failed"], `…"code":"`+want+`"}`)
	}
}

// trigger is a trigger on users whose last statement follows a trace in another table.
func trigger(when, event, last string) []string {
	row := map[bool]string{true: "old", false: "new"}[event == "DELETE"]
	return []string{fmt.Sprintf(`CREATE TRIGGER r %s %s ON users WHEN %s.name = 'bad'
		BEGIN INSERT INTO trace VALUES ('left'); %s; END`, when, event, row, last)}
}

// rulesFor returns the rules for what a write does to the table: INSERT, UPDATE or DELETE.
func rulesFor(event string) []rule {
	rules := []rule{
		{"a trigger that aborts", "not him", trigger("BEFORE", event, "SELECT RAISE(ABORT, 'not him')")},
		{"a trigger that fails afterwards", "not him", trigger("AFTER", event, "SELECT RAISE(FAIL, 'not him')")},
		{"a trigger that ignores", ignored, trigger("BEFORE", event, "SELECT RAISE(IGNORE)")},
		{endsTransaction, "not him", trigger("AFTER", event, "SELECT RAISE(ROLLBACK, 'not him')")},
	}
	if event != "DELETE" {
		rules = append(rules, rule{"a check", "CHECK constraint failed", []string{"ALTER TABLE users RENAME TO old",
			"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)",
			"INSERT INTO users (id, name, email, created_at) SELECT id, name, email, created_at FROM old"}})
	}
	if event == "UPDATE" {
		rules = append(rules, rule{"an index of searches that is out of step", "run `users-api index-search`", []string{
			"CREATE VIRTUAL TABLE users_search USING fts5(_name, content='', detail=none, tokenize='trigram')",
			`CREATE TRIGGER users_search_changed AFTER UPDATE ON users WHEN new.name = 'bad' BEGIN
				INSERT INTO users_search (users_search, rowid, _name) VALUES ('delete', old.id, old.name); END`}})
	}
	return rules
}

// ignoresWrites ignores changes of the first user, and that it is deleted.
var ignoresWrites = []string{
	"CREATE TRIGGER r BEFORE UPDATE ON users WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END",
	"CREATE TRIGGER s BEFORE DELETE ON users WHEN old.id = 1 BEGIN SELECT RAISE(IGNORE); END",
}

// What a trigger refuses is an item's 500. Where it rolls back the transaction, what others in the batch did is gone, too.
func TestABatchThatATriggerRollsBackIsA500AsAWhole(t *testing.T) {
	t.Parallel()
	item := func(name string) string {
		return `{"method":"POST","path":"/api/users","body":` + program.Body(name, name) + "}"
	}
	for how, users := range map[string][]string{"FAIL": {"Ada", "Alan"}, "ROLLBACK": nil} {
		p := program.Serve(t)
		other := program.OpenOther(t, p.DatabasePath())
		other.Do("CREATE TABLE trace (what)")
		other.Do(trigger("AFTER", "INSERT", "SELECT RAISE("+how+", 'not him')")...)
		answer := p.Do(t, "POST", "/api/users/batch", `{"requests":[`+item("Ada")+","+item("bad")+","+item("Alan")+"]}")
		answer.Expect(t, map[bool]int{true: 500, false: 200}[users == nil], "…not him…")
		p.ExpectUsers(t, users...)
	}
}

const (
	ordinaryID = "id INTEGER PRIMARY KEY"
	timeType   = "text"
	noTime     = "it has no column created_at, spelled so: add it, or give users-api another database"
	noID       = "its id is no integer that is the primary key: change that, or give users-api another database"
)

var refusedTables = map[string]refusedTable{
	"a view": {"CREATE VIEW users AS SELECT 1 AS id, '' AS name, '' AS email, '' AS created_at",
		"it is not an ordinary table"},
	"an id of another number": {with("id INT PRIMARY KEY"), noID},
	"an id that descends":     {with("id INTEGER PRIMARY KEY DESC"), noID},
	"an id that is no key":    {with("id INTEGER"), noID},
	"a missing column": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)",
		noTime},
	"an id in another letter case": {with("iD INTEGER PRIMARY KEY"), noID},
	"a name without a type": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name, email TEXT, created_at DATETIME)",
		"its column name is of type none, and must be TEXT or VARCHAR: change that"},
	"a field that SQLite takes for an integer": {with("id INTEGER PRIMARY KEY, room CHARINT"),
		"its column room is of type CHARINT, and must be TEXT or VARCHAR"},
	"a time without a type": {"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)",
		"its column created_at is of type none, and must be DATETIME, TIMESTAMP or TEXT"},
}

// with is a table with some columns and those of texts and of the time.
func with(columns string) string {
	return "CREATE TABLE users (" + columns + ", name TEXT, email TEXT UNIQUE, created_at DATETIME)"
}

const (
	databases = "testdata/*/database.tar.gz"
	// made is what a start and commands make for the table users.
	made = `SELECT group_concat(sql, '; ')
		FROM (SELECT sql FROM sqlite_schema WHERE name LIKE 'users\_%' ESCAPE '\' ORDER BY name)`
)

// putBack makes a database in a directory as an earlier version left it.
func putBack(t *testing.T, database, directory string) {
	t.Helper()
	program.Must(t, os.MkdirAll(directory, 0o700))
	output, err := exec.Command("tar", "-xzf", database, "-C", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if _, err := os.Stat(filepath.Join(directory, "users.db")); err != nil {
		t.Fatal(err)
	}
}
