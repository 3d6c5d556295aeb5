package sqlite

import (
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"users-api/models"
)

// The columns of a user, as one text and as four. They are expressions because the driver looks up the declared type
// of a plain column for each value, and turns a DATETIME into a time.Time; and because another program's may be NULL,
// or a number, or an id that is no whole number.
//
// The driver takes longer to hand over a column than SQLite to read it: a list of 1,000 takes 0.5 ms as one text for
// each user, and 0.85 ms as four columns.
const (
	separator = "\x1f" // ASCII's unit separator
	idColumn  = "COALESCE(CAST(id AS INTEGER), 0)"
	oneColumn = "concat_ws('" + separator + "', " + idColumn + ", COALESCE(name, ''), COALESCE(email, ''), COALESCE(created_at, ''))"
	columns   = idColumn + ", COALESCE(name || '', ''), COALESCE(email || '', ''), COALESCE(created_at || '', '')"
)

// containing is the condition for users whose name or email contains a text. lower folds ASCII letters alone. LIKE takes
// two thirds of the time, but ends at a NUL in a name; made right for those, it takes as long.
const containing = "instr(lower(name), lower(?)) OR instr(lower(email), lower(?))"

// errAmbiguous: a user's own text holds the separator.
var errAmbiguous = errors.New("a user in one column has more than four parts")

// statement is a query for users with its values. It is run without GORM, which takes longer to read a row than SQLite
// does.
type statement struct {
	text   string // with oneColumn
	values []any
}

// read calls add with every user that the statement selects; errEnough ends it. When a user's own text holds the
// separator it calls reset, and starts over with four columns.
func (s statement) read(conn connection, reset func(), add func(models.User) error) error {
	err := conn.query(1, func(values []driver.Value) error {
		user, err := split(values[0])
		if err != nil {
			return err
		}
		return add(user)
	}, s.text, s.values...)
	if !errors.Is(err, errAmbiguous) {
		return err
	}
	reset()
	return conn.query(4, func(values []driver.Value) error {
		var user models.User
		user.ID, _ = values[0].(int64)
		user.Name, _ = values[1].(string)
		user.Email, _ = values[2].(string)
		stored, _ := values[3].(string)
		user.CreatedAt = models.ShownTime(stored)
		return add(user)
	}, strings.Replace(s.text, oneColumn, columns, 1), s.values...)
}

// split returns the user that is in one column.
func split(value driver.Value) (user models.User, err error) {
	text, _ := value.(string)
	if strings.Count(text, separator) != 3 {
		return user, errAmbiguous
	}
	id, rest, _ := strings.Cut(text, separator)
	user.Name, rest, _ = strings.Cut(rest, separator)
	user.Email, rest, _ = strings.Cut(rest, separator)
	user.CreatedAt = models.ShownTime(rest)
	user.ID, err = strconv.ParseInt(id, 10, 64)
	return user, err
}

// queries are the texts of the statements that read, as GORM builds them from the model: once, because that takes
// longer than to run one.
type queries struct {
	byID, inRange string
	selected      map[shape]selection
}

// shape is what the text of a query depends on: which parts it has, and not their values.
type shape struct{ email, contains, after, descending bool }

// selection are the texts for the users that a query asks for, and for how many match.
type selection struct{ users, count string }

func newQueries(db *gorm.DB) *queries {
	users := db.Session(&gorm.Session{DryRun: true}).Model(&models.User{}).Session(&gorm.Session{})
	q := &queries{
		byID:     usersText(users.Where("id = ?", 0)),
		inRange:  usersText(users.Where("id BETWEEN ? AND ?", 0, 0).Order("id")),
		selected: map[shape]selection{},
	}
	for parts := range 1 << 4 {
		has := func(bit int) bool { return parts&(1<<bit) != 0 }
		form := shape{email: has(0), contains: has(1), after: has(2), descending: has(3)}
		q.selected[form] = form.texts(users)
	}
	return q
}

// texts builds the texts of a shape.
func (s shape) texts(users *gorm.DB) selection {
	order, beyond := "id", "id > ?"
	if s.descending {
		order, beyond = "id DESC", "id < ?"
	}
	if s.email {
		users = users.Where("email = ?", "")
	}
	if s.contains {
		users = users.Where(containing, "", "")
	}
	var n int64
	count := users.Session(&gorm.Session{}).Count(&n).Statement.SQL.String()
	if s.after {
		users = users.Where(beyond, 0)
	}
	// GORM's driver would write the number of a limit into the text.
	return selection{usersText(users.Order(order)) + " LIMIT ?", count}
}

func usersText(query *gorm.DB) string {
	return query.Select(oneColumn).Find(&[]models.User{}).Statement.SQL.String()
}

// get returns the user with an id.
func (q *queries) get(conn connection, id int64) (models.User, error) {
	return statement{q.byID, []any{id}}.one(conn)
}

// getByEmail returns the user with an email.
func (q *queries) getByEmail(conn connection, email string) (models.User, error) {
	return q.ordered(models.Query{Email: &email}, 1).one(conn)
}

// one returns the first user that the statement selects.
func (s statement) one(conn connection) (user models.User, err error) {
	found := false
	err = s.read(conn, func() {}, func(one models.User) error {
		user, found = one, true
		return errEnough
	})
	if err == nil && !found {
		err = models.ErrNotFound
	}
	return user, err
}

// matching returns the parts of a query that say who matches, and their values.
func matching(query models.Query) (parts shape, values []any) {
	if query.Email != nil {
		parts.email, values = true, append(values, *query.Email)
	}
	if query.Contains != "" {
		parts.contains, values = true, append(values, query.Contains, query.Contains)
	}
	return parts, values
}

// ordered returns the statement for the users that match a query and come after its After: at most limit of them.
func (q *queries) ordered(query models.Query, limit int) statement {
	parts, values := matching(query)
	parts.descending = query.Descending
	if query.After != nil {
		parts.after, values = true, append(values, *query.After)
	}
	return statement{q.selected[parts].users, append(values, int64(limit))}
}

// count returns how many users match a query.
func (q *queries) count(conn connection, query models.Query) (int64, error) {
	parts, values := matching(query)
	n, _, err := conn.number(q.selected[parts].count, values...)
	return n, err
}
