package sqlite

import "users-api/models"

// insert stores a user and returns its id. Rows that triggers insert elsewhere do not affect the rowid that SQLite
// returns after the triggers have ended. If a trigger or an ON CONFLICT clause ignores the user, SQLite returns the
// rowid of an earlier INSERT.
func (t *transaction) insert(user models.NewUser) (int64, error) {
	all := models.Values{Fields: t.conn.fields.All(), User: user}
	done, err := t.conn.Exec(t.conn.Insert, t.conn.Parameters(all)...)
	if err != nil {
		return 0, err
	}
	if done.Rows == 0 {
		return 0, models.ErrIgnored
	}
	t.wrote(done.RowID)
	return done.RowID, nil
}

// update changes a user and returns it as stored after the change.
func (t *transaction) update(id int64, change models.Values, allow models.Condition) (models.User, error) {
	before, err := t.allowed(id, allow)
	if err != nil || change.Fields == 0 {
		return before, err
	}
	done, err := t.conn.Exec(t.conn.Update(change.Fields), append(t.conn.Parameters(change), id)...)
	if err != nil {
		return models.User{}, err
	}
	if done.Rows == 0 && t.conn.fields.Differing(&change, &before.NewUser) != 0 {
		return models.User{}, models.ErrIgnored
	}
	t.wrote(id)
	return t.conn.get(id)
}

func (t *transaction) delete(id int64, allow models.Condition) error {
	if allow != nil {
		if _, err := t.allowed(id, allow); err != nil {
			return err
		}
	}
	done, err := t.conn.Exec(t.conn.Delete, id)
	if err != nil {
		return err
	}
	if done.Rows == 0 {
		return t.whyNotDeleted(id)
	}
	t.wrote(id)
	return nil
}

// whyNotDeleted returns why a deletion deleted no user: no user has the id, or a trigger ignored the deletion.
func (t *transaction) whyNotDeleted(id int64) error {
	_, err := t.conn.get(id)
	if err == nil {
		err = models.ErrIgnored
	}
	return err
}
