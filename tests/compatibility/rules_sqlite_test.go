//go:build !postgres

package compatibility

import "fmt"

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
		{"a trigger whose own statement fails", "UNIQUE constraint failed: audit.what", append([]string{
			"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('bad')"},
			trigger("BEFORE", event, "INSERT INTO audit VALUES ('bad')")...)},
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

const (
	// upperEmails makes something else of a change than what was sent.
	upperEmails = `CREATE TRIGGER r AFTER UPDATE OF name ON users
		BEGIN UPDATE users SET email = upper(new.email) WHERE id = new.id; END`
	// upperNew makes something else of a creation than what was sent.
	upperNew = `CREATE TRIGGER r AFTER INSERT ON users
		BEGIN UPDATE users SET email = upper(new.email) WHERE id = new.id; END`
	// deletesWhatIsChanged deletes each user who is changed.
	deletesWhatIsChanged = "CREATE TRIGGER s AFTER UPDATE ON users BEGIN DELETE FROM users WHERE id = new.id; END"
)
