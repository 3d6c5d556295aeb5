//go:build !postgres

package tables

// Rules that another program's table may have, and what a creation of the name "bad" among others is told.
var tableRules = []tableRule{
	{"a trigger that aborts", "not him", []string{`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(ABORT, 'not him'); END`}},
	{"a trigger that fails after it stored something", "not him", []string{`CREATE TRIGGER r AFTER INSERT ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(FAIL, 'not him'); END`}},
	{"a trigger that rolls back", "not him", []string{`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(ROLLBACK, 'not him'); END`}},
	{"a trigger that ignores", "not stored: a rule of the users table ignored", []string{
		`CREATE TRIGGER r BEFORE INSERT ON users WHEN new.name = 'bad'
		BEGIN SELECT RAISE(IGNORE); END`}},
	{"a trigger with INSERT OR FAIL", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER INSERT ON users BEGIN INSERT OR FAIL INTO audit
		VALUES (iif(new.name = 'bad', 'bad', new.email)); END`}},
	{"a trigger that writes to a table declared ON CONFLICT FAIL", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER INSERT ON users BEGIN INSERT INTO audit
		VALUES (iif(new.name = 'bad', 'bad', new.email)); END`}},
	{"a check", "CHECK constraint failed", []string{"DROP TABLE users", `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT,
		name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)`}},
	{"a uniqueness that rolls back", "UNIQUE constraint failed", []string{"DROP TABLE users", `CREATE TABLE users (
		id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE ON CONFLICT ROLLBACK, email TEXT, created_at TEXT)`,
		"INSERT INTO users (id, name, email, created_at) VALUES (1, 'bad', '', '')"}},
}

// Rules that refuse to change the name to "bad", and what the client is told.
var changeRules = []tableRule{
	{"a trigger that aborts", "not him", []string{`CREATE TRIGGER r BEFORE UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(ABORT, 'not him'); END`}},
	{"a trigger that ignores", "", []string{`CREATE TRIGGER r BEFORE UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(IGNORE); END`}},
	{"a trigger that rolls back", "not him", []string{`CREATE TRIGGER r BEFORE UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'not him'); END`}},
	{"a trigger that fails afterwards", "not him", []string{`CREATE TRIGGER r AFTER UPDATE ON users
		WHEN new.name = 'bad' BEGIN SELECT RAISE(FAIL, 'not him'); END`}},
	{"a table that fails on conflict", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('bad')",
		`CREATE TRIGGER r AFTER UPDATE ON users WHEN new.name = 'bad' BEGIN INSERT INTO audit VALUES ('bad'); END`}},
	{"a check", "CHECK constraint failed", []string{"ALTER TABLE users RENAME TO old",
		`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT CHECK (name <> 'bad'), email TEXT, created_at TEXT)`,
		"INSERT INTO users (id, name, email, created_at) SELECT id, name, email, created_at FROM old"}},
}

// Rules that refuse to delete the user 1, and what the client is told.
var deleteRules = []tableRule{
	{"a trigger that ignores", "", []string{`CREATE TRIGGER r BEFORE DELETE ON users WHEN old.id = 1
		BEGIN SELECT RAISE(IGNORE); END`}},
	{"a trigger that fails afterwards", "not him", []string{`CREATE TRIGGER r AFTER DELETE ON users
		WHEN old.id = 1 BEGIN SELECT RAISE(FAIL, 'not him'); END`}},
	{"a trigger with INSERT OR FAIL", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE)", "INSERT INTO audit VALUES ('taken')",
		`CREATE TRIGGER r AFTER DELETE ON users WHEN old.id = 1 BEGIN INSERT OR FAIL INTO audit VALUES ('taken'); END`}},
	{"a table that fails on conflict", "UNIQUE constraint failed: audit.what", []string{
		"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
		`CREATE TRIGGER r AFTER DELETE ON users WHEN old.id = 1 BEGIN INSERT INTO audit VALUES ('taken'); END`}},
	{"another table's foreign key", "", []string{
		"CREATE TABLE orders (buyer INTEGER)", "INSERT INTO orders VALUES (1)",
		`CREATE TRIGGER r BEFORE DELETE ON users WHEN EXISTS (SELECT 1 FROM orders WHERE buyer = old.id)
		BEGIN SELECT RAISE(ABORT, 'has orders'); END`}},
}

// upperEmails is a trigger that makes something else of a change than what was sent.
const upperEmails = `CREATE TRIGGER r AFTER UPDATE OF name ON users
	BEGIN UPDATE users SET email = upper(new.email) WHERE id = new.id; END`

// auditedUsers are users with a trigger that writes to another table, which has ids of its own.
var auditedUsers = []string{
	"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT UNIQUE, created_at TEXT)",
	"CREATE TABLE audit (no INTEGER PRIMARY KEY, what TEXT)", "INSERT INTO audit VALUES (1000, 'begin')",
	"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit (what) VALUES (new.email); END",
}

// tracedDeletions make a deletion fail after it has left a trace in another table.
var tracedDeletions = []string{
	"CREATE TABLE audit (what TEXT UNIQUE ON CONFLICT FAIL)", "INSERT INTO audit VALUES ('taken')",
	"CREATE TABLE trace (what TEXT)", `CREATE TRIGGER r BEFORE DELETE ON users BEGIN
		INSERT INTO trace VALUES ('left'); INSERT INTO audit VALUES ('taken'); END`,
}
