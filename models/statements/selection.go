package statements

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"users-api/models"
)

// Access is how a statement comes upon the users of whom it selects those that match.
type Access uint8

const (
	Scan    Access = iota // it looks at each, or the engine chooses
	Nearby                // it looks at each, and ends at a given id
	Index                 // it looks at those in the dialect's Found and Written
	Planned               // the engine chooses, and does not see how many users are wanted
)

// selectionKey is what the SQL of a query depends on.
type selectionKey struct {
	models.QueryKey
	ignoresCase bool
	access      Access
}

// Select returns the statements of a query. If the table ignores the case of unique fields, so does the query. The
// parameters of both are the query's [Statements.Matching]. Users has more: the id of After, if it is set, the last id to
// look at with [Nearby], and how many users are wanted at most. With [Index], those up to After come twice: after what is
// sought, and again.
func (s *Statements) Select(query models.Query, ignoresCase bool, access Access) Selection {
	key := selectionKey{query.Key(), ignoresCase, access}
	return s.selections.get(key, func() Selection { return s.selection(key) })
}

func (s *Statements) selection(key selectionKey) Selection {
	order, beyond, until := "id", "id > ", "id <= "
	if key.Descending {
		order, beyond, until = "id DESC", "id < ", "id >= "
	}
	selected := func(users *gorm.DB) (list *gorm.DB, count string) {
		users = s.where(users, key).Session(&gorm.Session{})
		var n int64
		count = text(users.Count(&n))
		if key.After {
			users = users.Where(beyond+s.dialect.Number, 0)
		}
		if key.access == Nearby {
			users = users.Where(until+s.dialect.Number, 0)
		}
		return users, count
	}
	if key.access != Index {
		users, count := selected(s.model().Set(hidesLimit, key.access == Planned))
		return Selection{s.users(users.Order(order).Limit(1)), count}
	}
	found, foundCount := selected(s.db.Table(s.dialect.Found+" CROSS JOIN users USING (id)", ""))
	written, writtenCount := selected(s.db.Table(s.dialect.Written + " CROSS JOIN users USING (id)"))
	return Selection{
		fmt.Sprintf("%s UNION ALL %s ORDER BY %s LIMIT %s", s.users(found), s.users(written), order, s.dialect.Limit),
		fmt.Sprintf("SELECT (%s) + (%s)", foundCount, writtenCount),
	}
}

// where adds the conditions of a query.
func (s *Statements) where(users *gorm.DB, key selectionKey) *gorm.DB {
	for field := range s.fields.In(key.Equal) {
		users = s.equal(users, field, key.ignoresCase)
	}
	if !key.Contains {
		return users
	}
	conditions, values := make([]string, len(s.fields)), make([]any, len(s.fields))
	for i, field := range s.fields {
		conditions[i], values[i] = fmt.Sprintf(s.dialect.Contains, s.quoted(field)), ""
	}
	return users.Where(strings.Join(conditions, " OR "), values...)
}

func (s *Statements) equal(users *gorm.DB, field *models.Field, ignoresCase bool) *gorm.DB {
	if field.Unique && ignoresCase {
		return users.Where(fmt.Sprintf(s.dialect.SameIgnoringCase, s.quoted(field)), "")
	}
	return users.Where(clause.Eq{Column: clause.Column{Name: field.Name}, Value: ""})
}
