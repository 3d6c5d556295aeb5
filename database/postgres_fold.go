package database

import (
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

// foldExpression returns [models.Fold] in the SQL of this server, with %[1]s for the text. It is immutable, so that an index
// may be on it, and its result is compared as bytes. What lower does to letters beyond ASCII depends on the collation, and
// that of a database may be Turkish, or know none. Of those that nearly all servers have, it takes one that does to each
// letter what Go does, and otherwise names all letters, which takes 50 times as long.
func (p *postgresPool) foldExpression(ctx context.Context) (string, error) {
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
	return `CASE WHEN octet_length(%[1]s) = char_length(%[1]s) OR %[1]s COLLATE "C" ~ '[` + later + `]' ` +
		`THEN lower(%[1]s COLLATE "C") ` +
		`ELSE normalize(translate(` + folded + `, '` + from + `', '` + to + `'), NFC) COLLATE "C" END`, err
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
