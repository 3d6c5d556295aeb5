package sqlite

import (
	"users-api/models"
	"users-api/models/listcache"
)

// transaction is the connection that writes, with what is known about the file. Nothing else uses that connection, so
// it knows what this process has written and notices when another program has written.
type transaction struct {
	conn    *connection
	changed listcache.Changes

	dataVersion int64 // the connection's data_version at the last look for other commits; SQLite counts from 1
	over        bool  // a write has ended the transaction
}

// begin takes the write lock, and checks what the table is now.
func (t *transaction) begin() error {
	if _, err := t.conn.Exec(beginWrite); err != nil {
		return err
	}
	t.over = false
	err := t.detectExternalCommits()
	if err == nil {
		err = t.conn.checkTable()
	}
	if err != nil {
		t.rollBack()
	}
	return err
}

// detectExternalCommits notes that anything may have changed if another connection has committed.
func (t *transaction) detectExternalCommits() error {
	version, err := t.conn.DataVersion()
	if err == nil && version != t.dataVersion {
		t.dataVersion = version
		t.changed.AddAll()
	}
	return err
}

func (t *transaction) commit() error {
	_, err := t.conn.Exec(commit)
	return err
}

// rollBack ends the transaction. If SQLite has ended it already, there is nothing to roll back, which is not an error
// here.
func (t *transaction) rollBack() { _, _ = t.conn.Exec(rollBack) }

// inSavepoint runs one write so that it leaves no trace if it is refused. SQLite itself undoes a refused statement,
// except for FAIL in a trigger or an ON CONFLICT clause. If there are any of these, the write runs in a savepoint,
// which takes four times as long as an INSERT. ROLLBACK in either ends the whole transaction: then it is over.
func (t *transaction) inSavepoint(write func(*transaction) error) error {
	if !t.conn.table.rules {
		return t.noteEnd(write(t))
	}
	if _, err := t.conn.Exec(savepoint); err != nil {
		return err
	}
	err := t.noteEnd(write(t))
	if err != nil {
		_, _ = t.conn.Exec(rollBackTo)
	}
	_, _ = t.conn.Exec(release) // there is none when the transaction is over
	return err
}

// noteEnd notes whether the write that returned an error has ended the transaction.
func (t *transaction) noteEnd(err error) error {
	if err != nil && !t.conn.InTransaction() {
		t.over = true
	}
	return err
}

// wrote notes that a user was written, or, if there are triggers, that any user may have been.
func (t *transaction) wrote(id int64) {
	if t.conn.table.rules {
		t.changed.AddAll()
		return
	}
	t.changed.Add(id)
}

func (t *transaction) allowed(id int64, allow models.Condition) (models.User, error) {
	user, err := t.conn.get(id)
	if err == nil && allow != nil {
		err = allow(user)
	}
	return user, err
}
