package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"users-api/models"
	"users-api/models/sqlite/dbfile"
	"users-api/models/statements"
)

// AddColumn adds the column of a field to the table users in the database at path, beside running services.
func AddColumn(ctx context.Context, path string, field *models.Field) error {
	script, err := statements.AddColumn(dialect(), field)
	if err != nil {
		return err
	}
	return changeTable(ctx, path, func(conn *connection) error {
		columns, err := conn.columns()
		if err != nil {
			return err
		}
		if hasColumn(columns, field.Name) {
			return fmt.Errorf("the table users has the column %s already: nothing was changed", field.Name)
		}
		return conn.Script(strings.Join(script, "; "))
	})
}

// IgnoreEmailCase creates the index with which emails that differ only in the case of ASCII letters are the same. The error
// is [*models.SameEmails] if there are such emails.
func IgnoreEmailCase(ctx context.Context, path string) error {
	return changeTable(ctx, path, func(conn *connection) error {
		table, err := conn.describe()
		if err != nil || table.emails.IgnoresCase {
			return err
		}
		if err = conn.Script(ignoreEmailCase); err == nil && table.feed {
			return conn.makeTriggers() // they look for the same emails
		}
		if failed, ok := errors.AsType[*dbfile.Error](err); ok && failed.Code == dbfile.CodeUnique {
			return conn.sameEmails()
		}
		return err
	})
}

// sameEmails returns the users who keep the index from being created. Other programs need not wait with their writes until
// these are found, which takes longer than the index.
func (c *connection) sameEmails() error {
	if err := c.Script(rollBack); err != nil {
		return err
	}
	same := &models.SameEmails{}
	err := c.Query(func(r dbfile.Row) error {
		if same.More = len(same.IDs) == models.MostListed; same.More {
			return dbfile.ErrEnough
		}
		same.IDs = append(same.IDs, r.Number(0))
		return nil
	}, sameEmails)
	if err != nil || len(same.IDs) == 0 { // another program has changed them
		return cmp.Or(err, errors.New("some emails were changed meanwhile: try again"))
	}
	return same
}

// changeTable runs change in a transaction, on a database with a table users. Afterwards the change is on disk, or nothing
// was changed.
func changeTable(ctx context.Context, path string, change func(*connection) error) error {
	return changeInSteps(ctx, path, models.NewFields(), func(conn *connection) (more bool, err error) {
		return false, change(conn)
	})
}

// changeInSteps is changeTable with a transaction for each step, until there are no more.
func changeInSteps(ctx context.Context, path string, fields models.Fields, step func(*connection) (more bool, err error)) error {
	const start = "start the service, which makes it with the fields in USER_FIELDS"
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no database %s: %s, or set DATA_DIR to the directory that the service uses", path, start)
	}
	target, err := dbfile.FollowLinks(path)
	if err == nil {
		err = mayWrite(target)
	}
	if err != nil {
		return err
	}
	queries, err := newQueries(fields)
	if err != nil {
		return err
	}
	conn, err := queries.connect(target)
	if err != nil {
		return dbfile.Explain(path, err)
	}
	defer conn.Close()
	err = conn.Until(ctx, func() error {
		return conn.steps(func(conn *connection) (more bool, err error) {
			if exists, err := hasTable(conn.Connection); err != nil || !exists {
				return false, cmp.Or(err, fmt.Errorf("the database %s has no table users: %s", path, start))
			}
			return step(conn)
		})
	})
	return explainChange(path, err)
}

// steps runs each step in its own transaction. Between two of them, other programs can write.
func (c *connection) steps(step func(*connection) (more bool, err error)) error {
	defer func() { _ = c.Script(rollBack) }() // there is nothing to roll back after a commit
	for first := true; ; first = false {
		begun := time.Now()
		err := c.Script(beginWrite)
		if isBusy(err) && !first {
			continue
		}
		more := false
		if err == nil {
			more, err = step(c)
		}
		if err == nil {
			err = c.Script(commit)
		}
		if err != nil || !more {
			return err
		}
		time.Sleep(time.Since(begun) / 2)
	}
}

// storedStatements returns the texts that a query selects from the schema.
func storedStatements(conn *dbfile.Connection, query string) (statements map[string]bool, err error) {
	statements = map[string]bool{}
	err = conn.Query(func(r dbfile.Row) error {
		text, _ := r.Text(0)
		statements[text] = true
		return nil
	}, query)
	return statements, err
}

// explainChange turns an error of SQLite into a line that says what to do.
func explainChange(path string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped before the table users in %s was changed: %w", path, err)
	case isBusy(err):
		return fmt.Errorf("nothing was changed, because another program held the lock of %s for more than %s, "+
			"as the service does during an import: try again afterwards", path, dbfile.BusyTimeout)
	case dbfile.PrimaryCode(err) != 0:
		return fmt.Errorf("cannot change the table users in %s: %w", path, err)
	}
	return err
}
