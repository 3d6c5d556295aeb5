package database

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

func (u *Users) matching(db *gorm.DB, query models.Query) *gorm.DB {
	matching := db.Model(&models.User{})
	if u.table.indexed {
		for _, condition := range query.Where {
			c, _ := condition.(models.Comparison)
			if words, isSearch := c.Value.([]string); isSearch && u.dialect.holds(strings.Join(words, "")) {
				matching = u.dialect.seek(matching, u.fields.Settable().Names(), words)
			}
		}
	}
	if len(query.Where) > 0 { // otherwise SQLite counts the users without looking at each
		matching = matching.Where(u.expression(query.Where))
	}
	return matching
}

// expression returns a condition in SQL. A comparison that is NULL is not met, and NOT of it would be NULL again.
func (u *Users) expression(condition models.Condition) clause.Expression {
	join := func(conditions []models.Condition, word, none string) clause.Expression {
		all := make([]any, len(conditions))
		for i, condition := range conditions {
			all[i] = u.expression(condition)
		}
		if len(all) == 0 {
			return clause.Expr{SQL: none}
		}
		return clause.Expr{SQL: "(?" + strings.Repeat(word, len(all)-1) + ")", Vars: all}
	}
	switch c := condition.(type) {
	case models.Comparison:
		return u.comparison(c)
	case models.Not:
		return clause.Expr{SQL: "(?) IS NOT TRUE", Vars: []any{u.expression(c.Condition)}}
	case models.And:
		return join(c, " AND ?", "TRUE")
	case models.Or:
		return join(c, " OR ?", "FALSE")
	}
	panic("a query has no condition")
}

// shown is the text that is shown for a column, in SQL.
func (u *Users) shown(column string) string {
	switch stored := "users." + quote(column); {
	case u.fields.IsTime(column):
		return u.dialect.shownTime(stored)
	case column == "id":
		return "CAST(id AS TEXT)"
	default:
		return stored
	}
}

// ordered is by what values of a field that has a type are ordered, in SQL: NULL for no value, and for what does not fit.
func (u *Users) ordered(field *models.Field) clause.Expr {
	column := "users." + quote(field.Name)
	if len(field.Type.Choices) == 0 {
		return u.dialect.ordered(column, field.Type)
	}
	places := clause.Expr{SQL: "CASE " + u.dialect.bytes(column) + strings.Repeat(" WHEN ? THEN ?", len(field.Type.Choices)) + " END"}
	for place, choice := range field.Type.Choices {
		places.Vars = append(places.Vars, []byte(choice), fmt.Sprintf("%02d", place))
	}
	return places
}

// comparison returns a comparison in SQL. An index finds equal texts. All others are compared as bytes, which both
// databases do in the same way, whatever the collation, and also with a NUL: SQLite's length and LIKE would take it for
// the end of a text. NULL and an empty text are NULL in them, which meets none: an operator that they shall meet needs
// coalesce.
func (u *Users) comparison(c models.Comparison) clause.Expression {
	expression := func(sql string, values ...any) clause.Expression { return clause.Expr{SQL: sql, Vars: values} }
	sign := map[models.Operator]string{
		models.Equal: " = ?", models.Greater: " > ?", models.AtLeast: " >= ?", models.Less: " < ?", models.AtMost: " <= ?",
	}[c.Operator]
	column, field := "users."+quote(c.Column), u.fields.Find(c.Column)
	text, isText := c.Value.(string)
	ignoresCase := field != nil && field.Unique && u.table.ignoresCase
	if ignoresCase {
		text = models.LowerASCII(text)
	}
	words, isSearch := c.Value.([]string)
	ordered, isOrdered := c.Value.([]byte)
	switch isEqual := c.Operator == models.Equal && field != nil && !field.Time; {
	case isEqual && !u.dialect.holds(text), isSearch && !u.dialect.holds(strings.Join(words, "")):
		return expression("FALSE")
	case isOrdered:
		return expression(u.dialect.bytes("?")+sign, u.ordered(field), ordered)
	case c.Operator == models.IsUnfit:
		return expression("("+column+" <> '' AND ? IS NULL)", u.ordered(field))
	case isSearch:
		return u.dialect.containsWords(u.fields.Settable().Names(), words)
	case isEqual && text == "":
		return expression("coalesce(" + column + ", '') = ''") // not by an index: SQLite would sort whole users by their ids, in memory
	case isEqual && ignoresCase:
		return expression(u.dialect.foldedEmail()+" = ?", text)
	case isEqual && !field.Unique: // only so does SQLite use an index of the values that are not empty
		return expression("("+column+" = ? AND "+column+" <> '')", text)
	case isEqual:
		return expression(column+" = ?", text)
	case !isText && sign != "":
		return expression(column+sign, c.Value)
	}
	shown := u.shown(c.Column)
	if ignoresCase {
		shown = u.dialect.lower(shown)
	}
	bytes, value := u.dialect.bytes("nullif("+shown+", '')"), []byte(text)
	switch c.Operator {
	case models.HasValue:
		return expression(shown + " <> ''")
	case models.IsFalse:
		return expression(u.dialect.lower(shown)+" IN ?", models.FalseWords)
	case models.Contains:
		return expression(u.dialect.position(bytes)+" > 0", value)
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
