package database

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// postgresDialect is the SQL of PostgreSQL, and its errors.
type postgresDialect struct{ folded string } // see [postgresPool.findFold]

func (postgresDialect) endsTransaction(_ *gorm.DB, err error) bool {
	trouble := troubleOf(err)
	return trouble == aborted || trouble.isConnections()
}

func (postgresDialect) holds(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

func (postgresDialect) maxParameters() int { return 800 }

func (postgresDialect) shownTime(column string) string {
	return "coalesce(to_char(" + column + "::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), '')"
}

func (postgresDialect) foldedEmail() string          { return `lower(email COLLATE "C")` }
func (postgresDialect) lower(text string) string     { return "lower(" + text + ` COLLATE "C")` }
func (d postgresDialect) fold(text string) string    { return strings.ReplaceAll(d.folded, "%[1]s", text) }
func (postgresDialect) bytes(text string) string     { return "convert_to(" + text + ", 'UTF8')" }
func (postgresDialect) position(bytes string) string { return "pg_catalog.position(" + bytes + ", ?)" }

// A number from a sequence does not follow the order of commits. So the key of an entry in the feed begins with the number
// of its transaction, and entries are shown once no transaction with that number or a lower one is under way (below xmin
// of the snapshot): whatever commits later has a higher key. A transaction that stays open holds the feed back.

func (postgresDialect) feed() feed {
	return feed{
		xid: "xid::text::int8", isShown: "xid < pg_snapshot_xmin(pg_current_snapshot())",
		keys: []string{"users_changes.xid", "users_changes.seq"},
		from: "(users_changes.xid, users_changes.seq) >= ((@xid)::text::xid8, @seq)",
	}
}

func (postgresDialect) createChanges(tx *gorm.DB) error {
	err := tx.AutoMigrate(&models.Change{})
	if err == nil {
		err = tx.Exec("ALTER TABLE users_changes ADD xid xid8 NOT NULL DEFAULT pg_current_xact_id(); " +
			"CREATE INDEX users_changes_feed ON users_changes (xid, seq)").Error
	}
	return cmp.Or(err, shareChanges(tx))
}

// shareChanges lets whoever may write users record it, too: the owner may be another than the service.
func shareChanges(tx *gorm.DB) error {
	var grants []string
	err := tx.Raw(`SELECT 'GRANT SELECT, INSERT, UPDATE, DELETE ON users_changes TO ' ||
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END
		FROM pg_class c, aclexplode(c.relacl) a
		WHERE c.oid = to_regclass('users') AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner`).Scan(&grants).Error
	for _, grant := range grants {
		err = cmp.Or(err, tx.Exec(grant).Error)
	}
	return err
}

// beginEpoch begins an epoch, too, where the entries were brought by a dump of another server: their numbers of
// transactions, which lie above or below those of this one at random, are made anew.
func (postgresDialect) beginEpoch(tx *gorm.DB, anew bool) error {
	server, mayAsk := "", false // without the right, a CASE around the call would not help
	err := tx.Raw("SELECT has_function_privilege('pg_control_system()', 'EXECUTE')").Row().Scan(&mayAsk)
	if err == nil && mayAsk {
		err = tx.Raw("SELECT system_identifier::text FROM pg_control_system()").Row().Scan(&server)
	}
	var first []models.Change
	if err == nil {
		err = tx.Select("seq", "by").Where("seq = 0").Find(&first).Error
	}
	isForeign := len(first) > 0 && server != "" && valueOf(first[0].By) != "" && *first[0].By != server
	if err != nil || len(first) > 0 && !isForeign && !anew {
		return err
	}
	if isForeign {
		err = tx.Exec("UPDATE users_changes SET xid = DEFAULT").Error
	}
	if err == nil {
		err = beginEpoch(tx)
	}
	if err == nil { // it is before all others, and shown at once
		err = tx.Exec(`UPDATE users_changes SET xid = '0', "by" = ? WHERE seq = 0`, server).Error
	}
	if err == nil && anew {
		err = shareChanges(tx)
	}
	return err
}

// earlier: a function takes its triggers with it.
func (postgresDialect) earlier() string {
	return `SELECT 'FUNCTION ' || p.oid::regprocedure || ' CASCADE'
			FROM pg_proc p JOIN pg_class c ON c.relnamespace = p.pronamespace
			WHERE c.oid = to_regclass('users') AND p.pronargs = 0 AND p.prorettype = 'trigger'::regtype
			AND p.proname IN ('users_changes_record', 'users_changes_keep', 'users_updated_at_set')
		UNION ALL SELECT 'TABLE ' || c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'xid'
			WHERE c.oid = to_regclass('users_changes') AND NOT EXISTS (
				SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'user_id')`
}

// findFold finds [models.Fold] in the SQL of this server, with %[1]s for the text. It is immutable, so that an index
// may be on it, and its result is compared as bytes. What lower does to letters beyond ASCII depends on the collation, and
// that of a database may be Turkish, or know none. Of those that nearly all servers have, it takes one that does to each
// letter what Go does, and otherwise names all letters, which takes 50 times as long.
func (p *postgresPool) findFold(ctx context.Context) error {
	var capitals, small []string
	for char := rune(utf8.RuneSelf); char <= unicode.MaxRune; char++ {
		lower := unicode.ToLower(char) // first: with the others for each character, this takes 100 ms, and 15 so
		if lower != char && norm.NFD.IsNormalString(string(char)) && !unicode.Is(models.LaterCharacters, char) {
			capitals, small = append(capitals, string(char)), append(small, string(lower))
		}
	}
	var known []string
	lower, end := "translate(lower(", ` COLLATE "C"), '`+strings.Join(capitals, "")+"', '"+strings.Join(small, "")+"')"
	err := p.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT ' COLLATE "' || collname || '"' FROM pg_collation
			WHERE collnamespace = 'pg_catalog'::regnamespace AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
			AND collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8', 'und-x-icu') ORDER BY collname <> 'pg_c_utf8', collname`).Scan(&known).Error
	})
	for _, collation := range known {
		isSame := false
		if err == nil {
			err = p.read(ctx, func(db *gorm.DB) error {
				return db.Raw("SELECT lower(?::text"+collation+") = ?", strings.Join(capitals, " "), strings.Join(small, " ")).
					Row().Scan(&isSame)
			})
		}
		if isSame {
			lower, end = "lower(", collation+")"
			break
		}
	}
	folded := lower + `regexp_replace(normalize(%[1]s, NFD) COLLATE "C", '[\u0300-\u036f]', '', 'g')` + end
	from, to, later := "", "", ""
	for _, letter := range slices.Sorted(maps.Keys(models.Undecomposed)) {
		if becomes := models.Undecomposed[letter]; utf8.RuneCountInString(becomes) == 1 {
			from, to = from+string(letter), to+becomes
		} else {
			folded = "replace(" + folded + ", '" + string(letter) + "', '" + becomes + "')"
		}
	}
	for _, part := range models.LaterCharacters.R16 {
		later += fmt.Sprintf(`\u%04x-\u%04x`, part.Lo, part.Hi)
	}
	for _, part := range models.LaterCharacters.R32 {
		later += fmt.Sprintf(`\U%08x-\U%08x`, part.Lo, part.Hi)
	}
	to = strings.ReplaceAll(to, "'", "''")
	p.dialect.folded = `CASE WHEN octet_length(%[1]s) = char_length(%[1]s) OR %[1]s COLLATE "C" ~ '[` + later + `]' ` +
		`THEN lower(%[1]s COLLATE "C") ` +
		`ELSE normalize(translate(` + folded + `, '` + from + `', '` + to + `'), NFC) COLLATE "C" END`
	return err
}

func (d postgresDialect) ordered(column string, of *models.Type) clause.Expr {
	order := map[string]string{
		"number": "to_char(" + column + "::numeric + 2000000000000000, 'FM0000000000000000.000000')",
		"date":   column,
		"url":    "substr(" + d.fold(column) + ", 1, 200)",
	}[of.Name]
	fits := fmt.Sprintf(`octet_length(%[1]s) <= %[2]d AND %[1]s COLLATE "C" ~ ?`, column, models.MaxTyped)
	return clause.Expr{SQL: "CASE WHEN " + fits + " THEN " + order + " END", Vars: []any{of.Pattern.String()}}
}

// containsWords folds each field once for all words.
func (d postgresDialect) containsWords(columns, words []string) clause.Expression {
	var folded []string
	for _, column := range columns {
		folded = append(folded, d.fold("coalesce(users."+quote(column)+"::text, '')"))
	}
	var patterns []any
	for _, word := range words {
		patterns = append(patterns, likePattern(word))
	}
	condition := "(" + strings.Join(folded, ` || E'\n' || `) + ") LIKE ALL (ARRAY[?::text" + strings.Repeat(", ?", len(words)-1) + "])"
	return clause.Expr{SQL: condition, Vars: patterns}
}

// seek requires what the index is on. It hides how many users are wanted: the planner takes a rare text for one that one
// user in 10,000 has. Of 10,000,000, the first 16 would seem to be found soon among the lowest ids, and it would leave
// the index aside. The planner takes the longest words: more would only take its time.
//
// Trigrams are of letters in lower case, and in some databases that of a capital beyond ASCII depends on the letters that
// follow. Only a text with one of [LaterCharacters] still has such a capital, so the index is not used for that.
func (d postgresDialect) seek(db *gorm.DB, names, words []string) *gorm.DB {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return utf8.RuneCountInString(word) < 3 || word != strings.ToLower(word)
	})
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, word := range words[:min(3, len(words))] {
		var some []clause.Expression
		for _, name := range names {
			some = append(some, clause.Expr{SQL: d.fold(quote(name)+"::text") + " LIKE ?", Vars: []any{likePattern(word)}})
		}
		db = db.Clauses(hiddenLimit{}).Where(clause.Or(some...))
	}
	return db
}

// indexComment is the comment of the indexes of searches: another version folds in another way, or another collation.
func (d postgresDialect) indexComment() string {
	return fmt.Sprintf("made by users-api index-search, folds as %x", sha256.Sum256([]byte(d.folded)))
}
