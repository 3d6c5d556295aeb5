package models

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// matching selects the users who match a query.
func (u *Users) matching(db *gorm.DB, query Query) (*gorm.DB, error) {
	table, err := u.catalog.table(db)
	matching := db.Model(&User{})
	for _, condition := range query.Where {
		if c, ok := condition.(Comparison); ok && c.column == "" && table.indexed {
			matching = u.dialect.seek(matching, u.fields.Names(), c.value.(string))
		}
	}
	if len(query.Where) > 0 { // otherwise SQLite counts the users without looking at each
		matching = matching.Where(u.expression(query.Where, table))
	}
	return matching, err
}

// expression returns a condition in SQL. A comparison that is NULL is not met, and NOT of it would be NULL again.
func (u *Users) expression(condition Condition, table table) clause.Expression {
	join := func(conditions []Condition, word, none string) clause.Expression {
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
	case Comparison:
		return u.comparison(c, table)
	case Not:
		return clause.Expr{SQL: "(?) IS NOT TRUE", Vars: []any{u.expression(c.Condition, table)}}
	case And:
		return join(c, " AND ?", "TRUE")
	case Or:
		return join(c, " OR ?", "FALSE")
	}
	panic("a query has no condition")
}

// comparison returns a comparison in SQL. An index finds equal texts. All others are compared as bytes, which both
// databases do in the same way, whatever the collation, and also with a NUL.
func (u *Users) comparison(c Comparison, table table) clause.Expression {
	expression := func(sql string, values ...any) clause.Expression { return clause.Expr{SQL: sql, Vars: values} }
	sign := map[Operator]string{Equal: " = ?", Greater: " > ?", AtLeast: " >= ?", Less: " < ?", AtMost: " <= ?"}[c.operator]
	column, field := `users."`+c.column+`"`, u.fields.Find(c.column)
	text, isText := c.value.(string)
	ignoresCase := field != nil && field.Unique && table.ignoresCase
	if ignoresCase {
		text = LowerASCII(text)
	}
	switch isEqual := c.operator == Equal && field != nil; {
	case (isEqual || c.column == "") && !u.mayStore(text):
		return expression("FALSE")
	case c.column == "":
		return u.dialect.contains(u.fields.Names(), c.value.(string), table.indexed)
	case isEqual && text == "":
		return expression("(" + column + " IS NULL OR " + column + " = '')")
	case isEqual && ignoresCase:
		return expression(u.limits.foldedEmail+" = ?", text)
	case isEqual:
		return expression(column+" = ?"+u.limits.exactly, text)
	case !isText && sign != "":
		return expression(column+sign, c.value)
	}
	shown := "CAST(" + column + " AS TEXT)"
	if c.column == "created_at" {
		shown = fmt.Sprintf(u.limits.shownTime, shown)
	}
	if ignoresCase {
		shown = fmt.Sprintf(u.limits.lower, shown)
	}
	bytes, value := fmt.Sprintf(u.limits.bytes, "nullif("+shown+", '')"), []byte(text)
	switch c.operator {
	case HasValue:
		return expression(shown + " <> ''")
	case Contains:
		return expression(fmt.Sprintf(u.limits.contains, bytes), value)
	case StartsWith:
		return expression("substr("+bytes+", 1, ?) = ?", int32(len(value)), value)
	case EndsWith:
		return expression("substr("+bytes+", length("+bytes+") - ? + 1) = ?", int32(len(value)), value)
	}
	if sign == "" {
		panic("no SQL for " + c.operator)
	}
	return expression(bytes+sign, value)
}
