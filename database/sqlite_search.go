package database

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// The index of searches is the table users_search: FTS5 with the three characters at each place of each field, and no
// texts. Triggers of users write it, folded with the table users_search_letters. FTS5 knows no positions, so what it
// finds is compared again.

// indexStatements returns what makes and what fills the index of columns, which get another name: FTS5 reserves some.
// Databases have this text, and hasSearchIndex compares it: after any change of it, searches use an index only once it was
// made anew.
func indexStatements(columns []string) (statements, fill []string) {
	createLetters, insertLetters := letters()
	own := "_" + strings.Join(columns, ", _")
	row := func(of string) string {
		values := of + ".id"
		for _, column := range columns {
			values += ", " + indexedText(of+"."+quote(column))
		}
		return values
	}
	insert := fmt.Sprintf("INSERT INTO users_search (rowid, %s) VALUES (%s); ", own, row("new"))
	remove := fmt.Sprintf("INSERT INTO users_search (users_search, rowid, %s) VALUES ('delete', %s); ", own, row("old"))
	differ := "old.\"id\" IS NOT new.\"id\" COLLATE BINARY"
	for _, column := range columns { // also if no more than the letter case of a text changes whose column ignores that
		differ += " OR old." + quote(column) + " IS NOT new." + quote(column) + " COLLATE BINARY"
	}
	fill = []string{insertLetters, fmt.Sprintf("INSERT INTO users_search (rowid, %s) SELECT %s FROM users", own, row("users"))}
	return []string{
		createLetters,
		fmt.Sprintf("CREATE VIRTUAL TABLE users_search USING fts5(%s, content='', detail=none, tokenize='trigram')", own),
		"CREATE TRIGGER users_search_created AFTER INSERT ON users BEGIN " + insert + "END",
		"CREATE TRIGGER users_search_changed AFTER UPDATE ON users WHEN " + differ + " BEGIN " + remove + insert + "END",
		"CREATE TRIGGER users_search_deleted AFTER DELETE ON users BEGIN " + remove + "END",
	}, fill
}

func (sqliteDialect) hasSearchIndex(db *gorm.DB, columns []string) (bool, error) {
	var stored []string
	err := db.Raw(`SELECT sql FROM sqlite_schema WHERE name IN ('users_search', 'users_search_letters')
		OR type = 'trigger' AND name LIKE 'users_search_%'`).Scan(&stored).Error
	if err != nil || len(stored) == 0 {
		return false, err // what an index has takes 0.1 s to say, which others may wait for behind the lock
	}
	statements, _ := indexStatements(columns)
	isMissing := func(statement string) bool { return !slices.Contains(stored, statement) }
	return !slices.ContainsFunc(statements, isMissing) && db.Exec("SELECT 1 FROM users_search LIMIT 0").Error == nil, nil
}

// dropSearchIndex removes what is left of the index, whatever state it is in. DROP needs a table of FTS5 that is
// whole: so its row in the schema is removed, and then the tables in which FTS5 has kept it.
func (sqliteDialect) dropSearchIndex(tx *gorm.DB) error {
	foreign := false
	err := tx.Raw(`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'users_search' COLLATE NOCASE
		AND sql NOT LIKE 'CREATE VIRTUAL TABLE users_search USING fts5(\_%' ESCAPE '\')`).Row().Scan(&foreign)
	if err == nil && foreign {
		err = errors.New("users_search is another program's: rename it")
	}
	if err == nil {
		err = tx.Exec(`PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'table' AND name = 'users_search';
			PRAGMA writable_schema = RESET`).Error
	}
	if err != nil {
		return err
	}
	left, err := leftOfIndex(tx)
	if err == nil && len(left) > 0 {
		err = tx.Exec("DROP " + strings.Join(left, "; DROP ")).Error
	}
	return err
}

// leftOfIndex returns what there is of an index: tables, and triggers, which begin with an INSERT into one of them, as
// another program's may have one of their names. Those of an earlier version wrote to users_search_written.
func leftOfIndex(db *gorm.DB) (left []string, err error) {
	err = db.Raw(`SELECT type || ' ' || name FROM sqlite_schema WHERE type = 'table' AND name = 'users_search'
		OR name LIKE 'users\_search\_%' ESCAPE '\' AND sql LIKE 'CREATE TABLE ''users\_search\_%' ESCAPE '\'
		OR name = 'users_search_letters' AND sql LIKE 'CREATE TABLE users_search_letters (letter TEXT UNIQUE, folded TEXT /%'
		OR sql = 'CREATE TABLE users_search_written (id INTEGER PRIMARY KEY)'
		OR name IN ('users_search_created', 'users_search_changed', 'users_search_deleted')
			AND (sql LIKE '% BEGIN INSERT INTO users_search (%' OR sql LIKE '% BEGIN INSERT INTO users_search_written SELECT%')`).
		Scan(&left).Error
	return left, err
}

func (d sqliteDialect) seek(db *gorm.DB, columns, words []string) *gorm.DB {
	indexed, _ := d.hasSearchIndex(db.Session(&gorm.Session{NewDB: true}), columns) // there was one a second ago
	if sought := trigrams(words); indexed && sought != "" {
		db = db.Table("(SELECT rowid AS id FROM users_search WHERE users_search MATCH ?) AS found "+
			"CROSS JOIN users USING (id)", sought)
	}
	return db
}
