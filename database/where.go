package database

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// matching selects the users who match a query.
func (u *Users) matching(db *gorm.DB, query models.Query) (*gorm.DB, error) {
	table, err := u.catalog.table(db)
	matching := db.Model(&models.User{})
	for _, condition := range query.Where {
		if c, _ := condition.(models.Comparison); table.indexed {
			if words, isSearch := c.Value.([]string); isSearch && u.mayStore(strings.Join(words, "")) {
				matching = u.dialect.seek(matching, u.fields.Settable().Names(), words)
			}
		}
	}
	if len(query.Where) > 0 { // otherwise SQLite counts the users without looking at each
		matching = matching.Where(u.expression(query.Where, table))
	}
	return matching, err
}

// expression returns a condition in SQL. A comparison that is NULL is not met, and NOT of it would be NULL again.
func (u *Users) expression(condition models.Condition, table table) clause.Expression {
	join := func(conditions []models.Condition, word, none string) clause.Expression {
		parts := make([]any, len(conditions))
		for i, part := range conditions {
			parts[i] = u.expression(part, table)
		}
		if len(parts) == 0 {
			return clause.Expr{SQL: none}
		}
		return clause.Expr{SQL: "(?" + strings.Repeat(word, len(parts)-1) + ")", Vars: parts}
	}
	switch c := condition.(type) {
	case models.Comparison:
		return u.comparison(c, table)
	case models.Not:
		return clause.Expr{SQL: "(?) IS NOT TRUE", Vars: []any{u.expression(c.Condition, table)}}
	case models.And:
		return join(c, " AND ?", "TRUE")
	case models.Or:
		return join(c, " OR ?", "FALSE")
	}
	panic("a query has no condition")
}

// inSQL returns the fields that searches compare, in SQL.
func (u *Users) inSQL() (columns []string) {
	for _, name := range u.fields.Settable().Names() {
		columns = append(columns, `users."`+name+`"`)
	}
	return columns
}

// shown is the text that is shown for a column, in SQL.
func (u *Users) shown(column string) string {
	stored := `CAST(users."` + column + `" AS TEXT)`
	if u.fields.IsTime(column) {
		return fmt.Sprintf(u.traits.shownTime, stored)
	}
	return stored
}

// stored returns the values as which columns may have some texts: another program may have stored BLOBs.
func (u *Users) stored(texts ...string) (values []any) {
	for _, text := range texts {
		if values = append(values, text); u.traits.storesBlobs {
			values = append(values, []byte(text))
		}
	}
	return values
}

// comparison returns a comparison in SQL. An index finds equal texts. All others are compared as bytes, which both
// databases do in the same way, whatever the collation, and also with a NUL.
func (u *Users) comparison(c models.Comparison, table table) clause.Expression {
	expression := func(sql string, values ...any) clause.Expression { return clause.Expr{SQL: sql, Vars: values} }
	sign := map[models.Operator]string{
		models.Equal: " = ?", models.Greater: " > ?", models.AtLeast: " >= ?", models.Less: " < ?", models.AtMost: " <= ?",
	}[c.Operator]
	column, field := `users."`+c.Column+`"`, u.fields.Find(c.Column)
	text, isText := c.Value.(string)
	ignoresCase := field != nil && field.Unique && table.ignoresCase
	if ignoresCase {
		text = models.LowerASCII(text)
	}
	words, isSearch := c.Value.([]string)
	switch isEqual := c.Operator == models.Equal && field != nil && !field.Time; {
	case isEqual && !u.mayStore(text), isSearch && !u.mayStore(strings.Join(words, "")):
		return expression("FALSE")
	case isSearch:
		return u.dialect.containsWords(u.inSQL(), words)
	case isEqual && text == "":
		return expression("coalesce(" + column + ", '') = ''") // not by an index: SQLite would sort whole users by their ids, in memory
	case isEqual && ignoresCase:
		return expression(u.traits.foldedEmail+" IN ?", u.stored(text))
	case isEqual && !field.Unique: // only so does SQLite use an index of the values that are not empty
		return expression("("+column+u.traits.exactly+" IN ? AND "+column+" <> '')", u.stored(text))
	case isEqual:
		return expression(column+u.traits.exactly+" IN ?", u.stored(text))
	case !isText && sign != "":
		return expression(column+sign, c.Value)
	}
	shown := u.shown(c.Column)
	if ignoresCase {
		shown = fmt.Sprintf(u.traits.lower, shown)
	}
	bytes, value := fmt.Sprintf(u.traits.bytes, "nullif("+shown+", '')"), []byte(text)
	switch c.Operator {
	case models.HasValue:
		return expression(shown + " <> ''")
	case models.Contains:
		return expression(fmt.Sprintf(u.traits.contains, bytes), value)
	case models.StartsWith:
		return expression("substr("+bytes+", 1, ?) = ?", int32(len(value)), value)
	case models.EndsWith:
		return expression("substr("+bytes+", length("+bytes+") - ? + 1) = ?", int32(len(value)), value)
	}
	if sign == "" {
		panic("no SQL for " + c.Operator)
	}
	return expression(bytes+sign, value)
}
