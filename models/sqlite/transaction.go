package sqlite

import (
	"users-api/models"
	"users-api/models/kept"
)

// transaction is the connection that writes, with what is known of the file: only it has that connection, so it knows
// what we have written and notices when another program has.
type transaction struct {
	conn    connection
	queries *queries
	table   table
	changed kept.Changes

	dataVersion int64 // the connection's data_version when others were last noticed; SQLite counts from 1
	described   bool  // table is that of dataVersion
	over        bool  // a write has ended the transaction
}

// begin takes the write lock, and looks at the table again if another program may have changed it.
func (t *transaction) begin() error {
	if _, err := t.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t.over = false
	err := t.noticeOthers()
	if err == nil && !t.described {
		t.table, err = t.conn.describe()
		t.described = err == nil
	}
	if err != nil {
		t.rollBack()
	}
	return err
}

// noticeOthers notes that anything may have changed when another connection has committed.
func (t *transaction) noticeOthers() error {
	version, err := t.conn.dataVersion()
	if err == nil && version != t.dataVersion {
		t.dataVersion, t.described = version, false
		t.changed.AddAll()
	}
	return err
}

func (t *transaction) commit() error {
	_, err := t.conn.exec("COMMIT")
	return err
}

// rollBack ends the transaction where SQLite has not ended it already: then there is nothing to roll back, which is no
// error here.
func (t *transaction) rollBack() { _, _ = t.conn.exec("ROLLBACK") }

// runAlone runs one write so that it leaves no trace when it is refused. In a plain table SQLite sees to that, and a
// savepoint would take four times as long as an INSERT. A trigger that raises ROLLBACK and a clause ON CONFLICT ROLLBACK
// end the whole transaction, and the savepoint with it: then it is over.
func (t *transaction) runAlone(write func(*transaction) error) error {
	if t.table.plain {
		return write(t)
	}
	t.changed.AddAll()
	if _, err := t.conn.exec("SAVEPOINT alone"); err != nil {
		return err
	}
	err := write(t)
	if err != nil {
		_, gone := t.conn.exec("ROLLBACK TO alone")
		t.over = gone != nil
	}
	if !t.over {
		_, _ = t.conn.exec("RELEASE alone") // it is there
	}
	return err
}

// allowed returns the user with the id, if a condition allows the write to it.
func (t *transaction) allowed(id int64, allow models.Condition) (models.User, error) {
	user, err := t.queries.get(t.conn, id)
	if err == nil && allow != nil {
		err = allow(user)
	}
	return user, err
}
