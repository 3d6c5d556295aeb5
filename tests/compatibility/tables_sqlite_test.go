//go:build !postgres

package compatibility

// Tables of other programs, and whether they give a new user an id.
var idColumns = []struct {
	name, column, options string
	gives                 bool
}{
	{"an id that may be given again", "id INTEGER PRIMARY KEY", "", true},
	{"an id that is never given again", "id INTEGER PRIMARY KEY AUTOINCREMENT", "STRICT", true},
	{"another order of columns", "updated_at TEXT, id INTEGER NOT NULL PRIMARY KEY", "", true},
}

// Times as other programs store them, and as the list shows them.
var times = []struct{ name, stored, shown string }{
	{"as SQLite writes it", `'2024-01-02 03:04:05'`, "2024-01-02 03:04:05"},
	{"in ISO form", `'2024-01-02T03:04:05Z'`, "2024-01-02 03:04:05"},
	{"in ISO form without a zone", `'2024-01-02T03:04:05'`, "2024-01-02 03:04:05"},
	{"with a fraction", `'2024-01-02 03:04:05.678'`, "2024-01-02 03:04:05"},
	{"as JavaScript writes it", `'2024-01-02T03:04:05.678Z'`, "2024-01-02 03:04:05"},
	{"with an offset", `'2024-01-02 03:04:05+02:00'`, "2024-01-02 01:04:05"},
	{"with an offset without a colon", `'2024-01-02T03:04:05+0530'`, "2024-01-01 21:34:05"},
	{"without seconds", `'2024-01-02T03:04Z'`, "2024-01-02 03:04:00"},
	{"as GORM writes it", `'2024-01-02 03:04:05.123456789-05:30'`, "2024-01-02 08:34:05"},
	{"a day", `'2024-01-02'`, "2024-01-02 00:00:00"},
	{"NULL", `NULL`, ""},
	{"empty", `''`, ""},
	{"text that is not a time", `'yesterday'`, "yesterday"},
	{"a text that SQLite reads as the current time", `'now'`, "now"},
	{"a number", `1700000000`, "1700000000"},
	{"a small number, which SQLite reads as a Julian day", `12345`, "12345"},
	{"a fraction", `1.5`, "1.5"},
	{"a month that does not exist", `'2024-13-41T03:04:05Z'`, "2024-13-41T03:04:05Z"},
	{"bytes", `x'6162'`, "ab"},
}

// The tables of other programs.
var foreignSchemas = map[string]string{
	"as the Node service had it": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
		email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
	"in another letter case": `CREATE TABLE "Users" (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
		email TEXT UNIQUE, created_at DATETIME)`,
	"with comments": "CREATE TABLE users (\n id INTEGER PRIMARY KEY AUTOINCREMENT, -- the id, /* really */\n" +
		" name VARCHAR(20) NOT NULL, email VARCHAR(99), created_at TIMESTAMP, /* once */ UNIQUE (email))",
	"with extra columns": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
		fax TEXT DEFAULT '-', email TEXT UNIQUE, created_at TEXT, updated_at TEXT DEFAULT CURRENT_TIMESTAMP,
		deleted_at TEXT)`,
}

// oddTables are tables of every kind, and rows of every kind in them.
var oddTables = map[string][]string{
	"text":        oddRows("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, created_at)", "users"),
	"other types": oddRows("CREATE TABLE users (id INTEGER PRIMARY KEY, name NCHAR(4), email CLOB, created_at DATE)", "users"),
	"letter case": oddRows(`CREATE TABLE "Users" (id INTEGER PRIMARY KEY, name TEXT, Fax TEXT, email TEXT, created_at)`, "users"),
}

func oddRows(schema, table string) []string {
	insert := "INSERT INTO " + table + " (id, name, email, created_at) VALUES "
	return []string{schema, insert + "(-3, NULL, NULL, NULL)", insert + "(5, 1.5, x'c3a9', 'x')",
		insert + "(6, 1500000.0, 42, 1700000000)",
		insert + "(7, 'a' || char(31) || 'b', 'a' || char(0) || 'b', '2024-01-02T03:04:05Z')",
		insert + "(8, '<&>\"', char(0x2028), '2024-01-02 03:04:05.678+02:00')",
		insert + "(9223372036854775807, CAST(x'ff' AS TEXT), '', '')"}
}

// usersTable is the table that tests give other ids: its columns but for the id.
const usersTable = "CREATE TABLE users (%s, name TEXT, email TEXT UNIQUE, created_at TEXT) %s"

// audits are what another program has beside its users: an index, and a trigger that notes creations.
var audits = []string{
	"CREATE INDEX by_name ON users (name)", "CREATE TABLE audit (what TEXT)",
	"CREATE TRIGGER note AFTER INSERT ON users BEGIN INSERT INTO audit VALUES (new.email); END",
}
