package sqlite

import (
	"gorm.io/gorm"

	"users-api/models"
)

// limited ends a query after a number of rows. With LIMIT ? alone, SQLite would compile the query again for each
// number.
const limited = " LIMIT ? + 0"

// containing is the condition for users whose name or email contains a text. lower folds only ASCII letters. LIKE takes
// two thirds of the time, but stops at a NUL in a name; a version that handles those takes as long.
const containing = "instr(lower(name), lower(?)) OR instr(lower(email), lower(?))"

// statement is a query for users with its values. It runs without GORM, which takes longer to read a row than SQLite
// does.
type statement struct {
	text   string
	values []any
}

// read calls add with every user that the statement selects; errEnough ends it.
func (s statement) read(conn connection, add func(models.User) error) error {
	return conn.query(func(r row) error { return add(r.user()) }, s.text, s.values...)
}

// queries are the texts of the statements that read. GORM builds them from the model once, because that takes longer
// than running one.
type queries struct {
	byID, inRange string
	selected      map[models.QueryKey]selection
}

// selection holds the texts that select the users of a query, and that count how many match.
type selection struct{ users, count string }

func newQueries(db *gorm.DB) *queries {
	users := db.Session(&gorm.Session{DryRun: true, QueryFields: true}).Model(&models.User{}).Session(&gorm.Session{})
	q := &queries{
		byID:     usersText(users.Where("id = ?", 0)),
		inRange:  usersText(users.Where("id BETWEEN ? AND ?", 0, 0).Order("id")),
		selected: map[models.QueryKey]selection{},
	}
	for shape := range models.QueryKeys() {
		q.selected[shape] = statementsFor(shape, users)
	}
	return q
}

// statementsFor builds the texts for a key.
func statementsFor(s models.QueryKey, users *gorm.DB) selection {
	order, beyond := "id", "id > ?"
	if s.Descending {
		order, beyond = "id DESC", "id < ?"
	}
	if s.Email {
		users = users.Where("email = ?", "")
	}
	if s.Contains {
		users = users.Where(containing, "", "")
	}
	var n int64
	count := users.Session(&gorm.Session{}).Count(&n).Statement.SQL.String()
	if s.After {
		users = users.Where(beyond, 0)
	}
	// GORM's driver would write the number of a limit into the text.
	return selection{usersText(users.Order(order)) + limited, count}
}

func usersText(query *gorm.DB) string {
	return query.Find(&[]models.User{}).Statement.SQL.String()
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
	err = s.read(conn, func(one models.User) error {
		user, found = one, true
		return errEnough
	})
	if err == nil && !found {
		err = models.ErrNotFound
	}
	return user, err
}

// matching returns the values for the parts of a query that decide which users match.
func matching(query models.Query) (values []any) {
	if query.Email != nil {
		values = append(values, *query.Email)
	}
	if query.Contains != "" {
		values = append(values, query.Contains, query.Contains)
	}
	return values
}

// ordered returns the statement for the users that match a query and come after its After: at most limit of them.
func (q *queries) ordered(query models.Query, limit int) statement {
	values := matching(query)
	if query.After != nil {
		values = append(values, *query.After)
	}
	return statement{q.selected[query.Key()].users, append(values, int64(limit))}
}

// count returns how many users match a query.
func (q *queries) count(conn connection, query models.Query) (int64, error) {
	n, _, err := conn.number(q.selected[query.Key()].count, matching(query)...)
	return n, err
}
