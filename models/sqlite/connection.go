package sqlite

import (
	"iter"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
)

// connection is a connection to the database file on which the statements on users run, and what it knows about
// their table.
type connection struct {
	*dbfile.Connection
	*queries
	table table
}

func (q *queries) connect(path string) (*connection, error) {
	conn, err := connect(path)
	return &connection{Connection: conn, queries: q}, err
}

// read calls add with every user that a statement selects; [dbfile.ErrEnough] ends it. The user is valid until add
// returns.
func (c *connection) read(add func(*models.User) error, text string, values ...any) error {
	var user models.User
	return c.Query(func(r dbfile.Row) error {
		c.readRow(r, &user)
		return add(&user)
	}, text, values...)
}

// readRow reads the columns of [statements.Statements.UserColumns].
func (q *queries) readRow(row dbfile.Row, user *models.User) {
	user.ID, user.Added = row.Number(0), nil // an earlier user keeps its own
	for i, field := range q.fields {
		if text, isNull := row.Text(1 + i); isNull {
			field.SetNull(&user.NewUser)
		} else {
			field.Set(&user.NewUser, text)
		}
	}
	created, _ := row.Text(1 + len(q.fields))
	user.CreatedAt = models.ShownTime(created)
}

func (c *connection) one(text string, values ...any) (user models.User, err error) {
	found := false
	err = c.read(func(one *models.User) error {
		user, found = *one, true
		return dbfile.ErrEnough
	}, text, values...)
	if err == nil && !found {
		err = models.ErrNotFound
	}
	return user, err
}

func (c *connection) get(id int64) (models.User, error) { return c.one(c.ByID, id) }

func (c *connection) users(query models.Query) iter.Seq2[models.User, error] {
	return models.Each(pages(query, func(read func(*connection) error) error { return read(c) }))
}
