package database

import (
	"crypto/sha256"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	driver "github.com/glebarez/go-sqlite"
	"golang.org/x/text/unicode/norm"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// registerFunctions makes [models.Fold], and [models.Type.Order] of what fits, functions of SQL on the connections that are
// opened afterwards. They get bytes: the driver would end a text at a NUL.
var registerFunctions = sync.OnceValue(func() error {
	fold := func(_ *driver.FunctionContext, stored []sqldriver.Value) (sqldriver.Value, error) {
		text, _ := stored[0].([]byte) // nil for NULL
		return models.Fold(string(text)), nil
	}
	order := func(_ *driver.FunctionContext, stored []sqldriver.Value) (sqldriver.Value, error) {
		name, _ := stored[0].(string)
		text, _ := stored[1].([]byte)
		if of := models.TypeNamed(name); of.Fits(string(text)) {
			return of.Order(string(text)), nil
		}
		return nil, nil
	}
	return errors.Join(driver.RegisterDeterministicScalarFunction("users_fold", 1, fold),
		driver.RegisterDeterministicScalarFunction("users_order", 2, order))
})

const (
	// isBeyondASCII is true of a text with a NUL, too, where length ends. Another program's BLOB is shown as a text.
	isBeyondASCII = "octet_length(%[1]s) <> length(CAST(%[1]s AS TEXT))"
	sqliteFold    = "CASE WHEN " + isBeyondASCII + " THEN users_fold(CAST(%[1]s AS BLOB)) ELSE lower(%[1]s) END"
)

func (sqliteDialect) ordered(column string, of *models.Type) clause.Expr {
	return clause.Expr{SQL: "users_order('" + of.Name + "', CAST(nullif(" + column + ", '') AS BLOB))"} // the driver fails at no bytes
}

func (sqliteDialect) fold(text string) string { return fmt.Sprintf(sqliteFold, text) }

// containsWords folds what is not ASCII. LIKE ignores the case of ASCII letters and ends at a NUL, which an ASCII text here
// does not have: among 300,000 users, of whom a tenth is not ASCII, it takes 390 ms where instr of lower takes 550.
func (sqliteDialect) containsWords(columns, words []string) clause.Expression {
	var every []clause.Expression
	for _, word := range words {
		ascii, pattern := "instr(lower(%[1]s), ?)", word
		if strings.IndexFunc(word, func(char rune) bool { return char == 0 || char >= utf8.RuneSelf }) < 0 {
			ascii, pattern = `%[1]s LIKE ? ESCAPE '\'`, likePattern(word)
		}
		var some []clause.Expression
		for _, column := range columns {
			condition := "CASE WHEN " + isBeyondASCII + " THEN instr(users_fold(CAST(%[1]s AS BLOB)), ?) ELSE " + ascii + " END"
			some = append(some, clause.Expr{SQL: fmt.Sprintf(condition, "users."+quote(column)), Vars: []any{word, pattern}})
		}
		every = append(every, clause.And(clause.Or(some...)))
	}
	return clause.And(every...)
}

// likePattern returns the pattern of LIKE for the texts that contain a text.
func likePattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}

// lastFolded ends the planes of Unicode with characters that [models.Fold] changes. To ask for each character of the
// others, too, takes 0.3 s instead of 0.1.
const lastFolded = 0x2ffff

// letters returns what makes the table of the characters that Fold changes, with what they become, and what fills it.
var letters = sync.OnceValues(func() (create, fill string) {
	var rows []string
	for char := rune(utf8.RuneSelf); char <= lastFolded; char++ {
		if letter := string(char); models.Fold(letter) != letter {
			rows = append(rows, fmt.Sprintf("('%s', '%s')", letter, strings.ReplaceAll(models.Fold(letter), "'", "''")))
		}
	}
	fill = "INSERT INTO users_search_letters VALUES " + strings.Join(rows, ", ")
	create = fmt.Sprintf("CREATE TABLE users_search_letters (letter TEXT UNIQUE, folded TEXT /* %x */)",
		sha256.Sum256([]byte(fill)))
	return create, fill
})

// unsure is indexed for the users whose text the index does not fold: every search compares them. It is a character
// without a meaning, three times.
const unsure = "\uf8ff\uf8ff\uf8ff"

// indexedText returns the text that is indexed for a column, in SQL that every program has. The characters that Fold
// changes are looked up one by one. It is unsure of long texts, of those with a NUL or a byte that is no character, and
// of those in which characters may join into letters that people have in one piece: Korean, Japanese and Arabic ones.
func indexedText(column string) string {
	later := ""
	for _, part := range models.LaterCharacters.R16 {
		later += string(rune(part.Lo)) + "-" + string(rune(part.Hi))
	}
	for _, part := range models.LaterCharacters.R32 {
		later += string(rune(part.Lo)) + "-" + string(rune(part.Hi))
	}
	const joining = "\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff\u3099-\u309a\u0653-\u0655"
	return fmt.Sprintf("CASE WHEN length(CAST(%[1]s AS BLOB)) = length(CAST(%[1]s AS TEXT)) THEN %[1]s "+
		"WHEN instr(CAST(%[1]s AS BLOB), x'00') OR length(CAST(%[1]s AS TEXT)) > 1000 OR %[1]s GLOB '*[%[2]s]*' THEN '%[3]s' "+
		"ELSE (SELECT CASE WHEN min(char(unicode(letter)) = letter) THEN group_concat(coalesce("+
		"(SELECT folded FROM users_search_letters AS known WHERE known.letter = text.letter), letter), '') ELSE '%[3]s' END "+
		"FROM (SELECT substr(CAST(%[1]s AS TEXT), rowid, 1) AS letter FROM users_search_letters "+
		"WHERE rowid <= length(CAST(%[1]s AS TEXT)) ORDER BY rowid) AS text) END", column, later+joining, unsure)
}

// trigrams returns a query of FTS5 for the users who may have all of some folded words, or "" if these are too short.
// Few users have all of the first 32; the others are compared anyway. Marks may be stored in another order, and some
// letters of India in two pieces: the index does not find these.
func trigrams(words []string) string {
	var sought []string
	for _, word := range words {
		characters := []rune(word)
		for i := 0; i+3 <= len(characters) && len(sought) < 32; i++ {
			part := string(characters[i : i+3])
			if utf8.ValidString(part) && !strings.Contains(part, "\x00") && !strings.ContainsFunc(part, isFoundInAnotherForm) {
				sought = append(sought, `"`+strings.ReplaceAll(part, `"`, `""`)+`"`)
			}
		}
	}
	if len(sought) == 0 {
		return ""
	}
	return `(` + strings.Join(sought, " AND ") + `) OR "` + unsure + `"`
}

func isFoundInAnotherForm(char rune) bool {
	isJoined := unicode.Is(unicode.Hangul, char) || '\u3040' <= char && char <= '\u30ff' || '\u0622' <= char && char <= '\u0626'
	return norm.NFC.PropertiesString(string(char)).CCC() > 0 || !norm.NFD.IsNormalString(string(char)) && !isJoined ||
		unicode.Is(models.LaterCharacters, char)
}

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
	const remove = "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE " + isIndex + "; PRAGMA writable_schema = RESET"
	if err := tx.Exec(remove).Error; err != nil {
		return err
	}
	left, err := leftOfIndex(tx)
	if err == nil && len(left) > 0 {
		err = tx.Exec("DROP " + strings.Join(left, "; DROP ")).Error
	}
	return err
}

// isIndex is true of the table of FTS5, and not of another program's: then the index cannot be made.
const isIndex = `name = 'users_search' AND sql LIKE 'CREATE VIRTUAL TABLE users_search USING fts5(\_%' ESCAPE '\'`

// leftOfIndex returns what there is of an index: tables, and triggers, which begin with an INSERT into one of them, as
// another program's may have one of their names. Those of an earlier version wrote to users_search_written.
func leftOfIndex(db *gorm.DB) (left []string, err error) {
	err = db.Raw(`SELECT type || ' ' || name FROM sqlite_schema WHERE ` + isIndex + `
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
