package sqlite

import (
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"users-api/models"
)

// The statements that write are written out: SQLite takes 12 µs for an INSERT, and GORM takes longer than that to build
// one. Their names are those of [models.User], which a test compares. The time is named because a table that another
// program made may have no default for it.
const (
	insertUser = "INSERT INTO users (name, email, created_at) VALUES (?, ?, CURRENT_TIMESTAMP)"
	updateUser = "UPDATE users SET "
	deleteUser = "DELETE FROM users"
	withID     = " WHERE id = ?"
	newestID   = "SELECT max(id) FROM users WHERE email = ?"
)

// insert stores a user and returns its id.
func (t *transaction) insert(user models.NewUser) (int64, error) {
	if !t.table.plain {
		return t.insertByRules(user)
	}
	done, err := t.conn.exec(insertUser, user.Name, user.Email)
	if err != nil {
		return 0, err
	}
	t.changed.Add(done.rowid)
	return done.rowid, nil
}

// insertByRules stores a user in a table that has triggers, is a view, or gives ids by other rules, and returns the id of
// what is there then. A view returns no id, so it is asked who has the email and had it not before.
func (t *transaction) insertByRules(user models.NewUser) (id int64, err error) {
	before, _, err := t.conn.number(newestID, user.Email)
	if err != nil {
		return 0, err
	}
	returned, hasID := int64(0), false
	err = t.conn.query(func(r row) error {
		returned, hasID = wholeNumber(r)
		return nil
	}, insertUser+" RETURNING id", user.Name, user.Email)
	if err != nil {
		return 0, err
	}
	if hasID {
		if _, err := t.queries.get(t.conn, returned); err == nil {
			return returned, nil
		}
	}
	after, found, err := t.conn.number(newestID, user.Email)
	if err == nil && (!found || after == before) {
		err = models.ErrIgnored
	}
	return after, err
}

// wholeNumber returns the id that a table gave, which it may keep as a text.
func wholeNumber(r row) (number int64, ok bool) {
	if r.kind(0) == sqlite.TypeText {
		text := r.text(0)
		number, err := strconv.ParseInt(text, 10, 64)
		return number, err == nil && strconv.FormatInt(number, 10) == text
	}
	return r.number(0), r.kind(0) == sqlite.TypeInteger
}

// update changes a user and returns it as it is stored then.
func (t *transaction) update(id int64, change models.Change, allow models.Condition) (models.User, error) {
	before, err := t.allowed(id, allow)
	if err != nil || change == (models.Change{}) {
		return before, err
	}
	columns, values := assignments(change)
	done, err := t.conn.exec(updateUser+columns+withID, append(values, id)...)
	if err != nil {
		return models.User{}, err
	}
	t.changed.Add(id)
	after, err := t.queries.get(t.conn, id)
	if err == nil && done.rows == 0 && after == before && !change.Describes(after) {
		err = models.ErrIgnored
	}
	return after, err
}

// assignments returns the columns that a change sets, and their values.
func assignments(change models.Change) (columns string, values []any) {
	var set []string
	if change.Name != nil {
		set, values = append(set, "name = ?"), append(values, *change.Name)
	}
	if change.Email != nil {
		set, values = append(set, "email = ?"), append(values, *change.Email)
	}
	return strings.Join(set, ", "), values
}

// delete removes a user.
func (t *transaction) delete(id int64, allow models.Condition) error {
	if allow != nil || !t.table.plain {
		if _, err := t.allowed(id, allow); err != nil {
			return err
		}
	}
	done, err := t.conn.exec(deleteUser+withID, id)
	if err != nil {
		return err
	}
	if t.table.plain {
		if done.rows == 0 {
			return models.ErrNotFound
		}
		t.changed.Add(id)
		return nil
	}
	return t.expectGone(id)
}

// expectGone returns ErrIgnored while a user is still there: a trigger may have kept it.
func (t *transaction) expectGone(id int64) error {
	switch _, err := t.queries.get(t.conn, id); err {
	case nil:
		return models.ErrIgnored
	case models.ErrNotFound:
		return nil
	default:
		return err
	}
}
