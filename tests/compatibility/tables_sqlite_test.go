//go:build !postgres

package compatibility

import (
	"testing"

	"users-api/tests/program"
)

// The tables of other programs.
var foreignSchemas = map[string]string{
	"as the Node service had it": `CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
		email TEXT UNIQUE NOT NULL, created_at DATETIME DEFAULT CURRENT_TIMESTAMP)`,
	"in another letter case": `CREATE TABLE "Users" (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT,
		email TEXT UNIQUE, created_at DATETIME)`,
	"with comments": "CREATE TABLE users (\n id INTEGER PRIMARY KEY AUTOINCREMENT, -- the id, /* really */\n" +
		" name VARCHAR(20) NOT NULL, email VARCHAR(99), created_at TIMESTAMP, /* once */ UNIQUE (email))",
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
	"text":        "(id INTEGER PRIMARY KEY, name TEXT, Fax TEXT, email TEXT, created_at)",
	"other types": "(id INTEGER PRIMARY KEY, name NCHAR(4), email CLOB, created_at DATE)",
}

var oddUsers = []oddUser{
	{"-3, NULL, NULL, NULL", `{"id":-3,"name":"","email":"","created_at":""}`, true},
	{"5, 1.5, x'c3a9', 'now'", `{"id":5,"name":"1.5","email":"é","created_at":"now"}`, false},
	{"7, 'a' || char(31) || 'b', 'a' || char(0) || 'b', 1700000000",
		`{"id":7,"name":"a\u001fb","email":"a\u0000b","created_at":"1700000000"}`, false},
	{"8, '<&>\"', char(0x2028), '2024-01-02 03:04:05.678+02:00'",
		`{"id":8,"name":"<&>\"","email":"\u2028","created_at":"2024-01-02 01:04:05"}`, false},
	{"9223372036854775807, CAST(x'ff' AS TEXT), '', x'6162'",
		`{"id":9223372036854775807,"name":"\ufffd","email":"","created_at":"ab"}`, true},
}

// fieldTypes are types of columns that are served as fields.
var fieldTypes = []string{"TEXT", "varchar(2)", "CLOB"}
