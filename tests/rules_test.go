package tests

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// A view of another program's table, with triggers that store and delete what the view is told to.
var peopleView = []string{
	"CREATE TABLE people (no INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, mail TEXT UNIQUE, since TEXT)",
	"INSERT INTO people VALUES (41, 'Ada', 'ada@example.org', '')",
	"CREATE VIEW users AS SELECT no AS id, name, mail AS email, since AS created_at FROM people",
	`CREATE TRIGGER stores INSTEAD OF INSERT ON users WHEN new.name <> 'ignored' BEGIN
		INSERT INTO people (name, mail, since) VALUES (new.name, new.email, new.created_at); END`,
	`CREATE TRIGGER deletes INSTEAD OF DELETE ON users WHEN old.name <> 'stays' BEGIN
		DELETE FROM people WHERE no = old.id; END`,
}

func TestAViewWithTriggersIsWrittenLikeATable(t *testing.T) {
	t.Parallel()
	p, other := serveFile(t, peopleView...)
	if id := p.Create(t, "Alan", "alan@example.org"); id != 42 {
		t.Errorf("the new user is answered with the id %d", id)
	}
	if name := other.Ask("SELECT name FROM people WHERE no = 42"); name != "Alan" {
		t.Errorf("42 is %s", name)
	}
	p.Delete(t, 41)
	if users := p.List(t); len(users) != 1 || users[0].ID != 42 {
		t.Errorf("the users are %v", users)
	}
	if answer := p.Do(t, "DELETE", "/api/users/41", ""); answer.Status != 404 {
		t.Errorf("deleting nobody is answered %d %s", answer.Status, answer.Body)
	}
	duplicate := p.Do(t, "POST", "/api/users", program.Body("Other", "alan@example.org"))
	if duplicate.Status != 500 || !matches(duplicate.Body, `{"error":"…UNIQUE constraint failed: people.mail…"}`) {
		t.Errorf("a duplicate is answered %d %s", duplicate.Status, duplicate.Body)
	}
}

func TestWhatAViewIgnoresIsNotAnsweredAsDone(t *testing.T) {
	t.Parallel()
	p, _ := serveFile(t, append(peopleView, "INSERT INTO people VALUES (50, 'stays', 'stays@example.org', '')")...)
	before := p.Do(t, "GET", "/api/users", "").Body
	for _, answer := range []program.Answer{
		p.Do(t, "POST", "/api/users", program.Body("ignored", "ignored@example.org")),
		p.Do(t, "DELETE", "/api/users/50", ""),
	} {
		if answer.Status != 500 || !matches(answer.Body, `{"error":"…"}`) {
			t.Errorf("answered %d %s", answer.Status, answer.Body)
		}
	}
	if after := p.Do(t, "GET", "/api/users", "").Body; after != before {
		t.Errorf("the users were %s and are %s", before, after)
	}
}

func TestAnIDThatAnotherProgramsTriggerWritesElsewhereIsNotTheUsers(t *testing.T) {
	t.Parallel()
	p, _ := serveFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at TEXT)",
		"CREATE TABLE audit (no INTEGER PRIMARY KEY, what TEXT)", "INSERT INTO audit VALUES (1000, 'begin')",
		"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit (what) VALUES (new.email); END")
	for i := range 3 {
		if id := p.Create(t, "n", fmt.Sprint(i)); id != int64(i+1) {
			t.Errorf("user %d is answered with the id %d", i+1, id)
		}
	}
}

// Rules that refuse to delete the user 1, and what the client is told.
var deleteRules = []struct {
	name, says string
	rules      []string
}{
	{"a trigger that ignores", `{"error":"…"}`, []string{`CREATE TRIGGER r BEFORE DELETE ON users WHEN old.id = 1
		BEGIN SELECT RAISE(IGNORE); END`}},
	{"a trigger that fails afterwards", `{"error":"…not him…"}`, []string{`CREATE TRIGGER r AFTER DELETE ON users
		WHEN old.id = 1 BEGIN SELECT RAISE(FAIL, 'not him'); END`}},
	{"a trigger with INSERT OR FAIL", `{"error":"…UNIQUE constraint failed: audit.what…"}`, []string{
		"CREATE TABLE audit (what TEXT UNIQUE)", "INSERT INTO audit VALUES ('taken')",
		`CREATE TRIGGER r AFTER DELETE ON users WHEN old.id = 1 BEGIN INSERT OR FAIL INTO audit VALUES ('taken'); END`}},
	{"a table that fails on conflict", `{"error":"…UNIQUE constraint failed: audit.what…"}`, []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
		`CREATE TRIGGER r AFTER DELETE ON users WHEN old.id = 1 BEGIN INSERT INTO audit VALUES ('taken'); END`}},
	{"another table's foreign key", `{"error":"…"}`, []string{
		"CREATE TABLE orders (buyer INTEGER)", "INSERT INTO orders VALUES (1)",
		`CREATE TRIGGER r BEFORE DELETE ON users WHEN EXISTS (SELECT 1 FROM orders WHERE buyer = old.id)
		BEGIN SELECT RAISE(ABORT, 'has orders'); END`}},
}

func TestADeletionThatTheTableRefusesIsA500AndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, rule := range deleteRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada@example.org")
			second := p.Create(t, "Alan", "alan@example.org")
			program.OpenOther(t, p.DatabasePath()).Do(rule.rules...)
			answer := p.Do(t, "DELETE", "/api/users/1", "")
			if answer.Status != 500 || !matches(answer.Body, rule.says) {
				t.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			p.Delete(t, second)
			if users := p.List(t); len(users) != 1 || users[0].ID != 1 {
				t.Errorf("the users are %v", users)
			}
		})
	}
}

// What a trigger did elsewhere before it failed must be undone as well.
func TestARefusedDeletionLeavesNoTraceInOtherTables(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
		"CREATE TABLE trace (what TEXT)", `CREATE TRIGGER r BEFORE DELETE ON users BEGIN
			INSERT INTO trace VALUES ('left'); INSERT INTO audit VALUES ('taken'); END`)
	if answer := p.Do(t, "DELETE", "/api/users/1", ""); answer.Status != 500 {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	if traces := other.Ask("SELECT count(*) FROM trace"); traces != "0" {
		t.Errorf("%s traces are left", traces)
	}
}
