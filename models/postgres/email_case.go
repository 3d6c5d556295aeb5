package postgres

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// IgnoreEmailCase creates the index with which emails that differ only in the case of ASCII letters are the same. The error
// is [*models.SameEmails] if there are such emails.
//
// No write waits for it: PostgreSQL builds the index beside them, which no transaction can do. So a build that is broken
// off leaves an index behind that is not valid, and still refuses emails; it is removed at once, or before the next build.
func IgnoreEmailCase(ctx context.Context, url string, logger *slog.Logger) error {
	return changeSchema(ctx, url, logger, func(d *database) error {
		err := d.inTurn(ctx, func() error {
			exists, err := d.removeUnfinished(ctx)
			if err == nil && !exists {
				err = d.buildCaseIndex(ctx, logger)
			}
			return err
		})
		if err != nil {
			return err
		}
		// Each service checks the table once a second: when this returns, all follow the index.
		return sleep(ctx, checkEvery+checkEvery/10)
	})
}

// errOtherBuild: another process builds the index.
var errOtherBuild = errors.New("nothing was changed, because another process builds the index: try again when it has ended")

// inTurn keeps other processes from building the index at the same time. A build waits for every snapshot that is older
// than it: so those that want their turn ask again and again, and the transaction that has it does nothing else, and
// asked by the simple protocol, which leaves no portal open.
func (d *database) inTurn(ctx context.Context, build func() error) error {
	done, err := retry(ctx, func() (mine bool, err error) {
		err = d.onOne(ctx, func(conn connection) error {
			return conn.inTransaction(ctx, beginTurn+conn.timeouts(), func() error {
				err := conn.QueryRow(ctx, tryTurn, pgx.QueryExecModeSimpleProtocol).Scan(&mine)
				if err != nil || !mine {
					return err
				}
				return build()
			})
		})
		return mine, err
	})
	if err == nil && !done {
		err = errOtherBuild
	}
	return err
}

// buildTries is how often the index is built, if emails that are the same are stored and deleted meanwhile, or if
// PostgreSQL ends the build because of a deadlock with another transaction.
const buildTries = 3

func (d *database) buildCaseIndex(ctx context.Context, logger *slog.Logger) (err error) {
	for range buildTries {
		if err := d.expectDifferentEmails(ctx); err != nil {
			return err
		}
		if err = d.onOne(ctx, func(conn connection) error { return conn.createCaseIndex(ctx) }); err == nil {
			return nil
		}
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*schemaTime)
		exists, failed := d.removeUnfinished(limited)
		cancel()
		if failed != nil {
			logger.Warn("the unfinished index users_email_nocase may be left: run the command again", "error", failed)
		}
		switch {
		case exists: // the server went on without this connection
			return nil
		case failed != nil, !isDuplicate(err) && class(sqlState(err)) != classRollback:
			return err
		}
	}
	return err
}

// errTimeouts: the time limits of the server would end the build, and behind a pooler nothing can lift them.
var errTimeouts = errors.New("a pooler stands before the PostgreSQL server, and the role, the database or the server has " +
	"a statement_timeout, a lock_timeout or another isolation by default: name the server itself in the URL for this command")

// createCaseIndex waits for transactions that use the table, for as long as they take.
func (c connection) createCaseIndex(ctx context.Context) error {
	if c.needsBegin() {
		return errTimeouts
	}
	if !c.isPooled() {
		if err := c.simple(ctx, setNoTimeouts); err != nil {
			return err
		}
	}
	return c.simple(ctx, createCaseIndex)
}

// removeUnfinished removes an index that is not valid, unless it is being built, and reports whether there is a valid one.
func (d *database) removeUnfinished(ctx context.Context) (exists bool, err error) {
	name := ""
	look := func(conn connection) error {
		name, exists, err = conn.caseIndex(ctx)
		return err
	}
	if err := d.onOne(ctx, look); err != nil || exists || name == "" {
		return exists, err
	}
	err = d.alone(ctx, func(conn connection) error {
		finishing := false
		if err := conn.value(ctx, &finishing, isFinishing); err != nil || finishing {
			return cmp.Or(err, errFinishing)
		}
		if err := look(conn); err != nil || exists || name == "" {
			return err
		}
		return conn.simple(ctx, "DROP INDEX "+name)
	})
	return exists, err
}

// errFinishing: another session is about to commit a change of the table.
var errFinishing = errors.New("a change of the table is being committed")

// caseIndex returns the name of the index that ignores the case of emails, or "", and whether it is valid.
func (c connection) caseIndex(ctx context.Context) (name string, valid bool, err error) {
	err = c.query(ctx, func(rows pgx.Rows) error { return rows.Scan(&name, &valid) }, findCaseIndex)
	return name, valid, err
}

// expectDifferentEmails returns an error if emails differ only in the case of ASCII letters.
func (d *database) expectDifferentEmails(ctx context.Context) error {
	same := &models.SameEmails{}
	err := d.onOne(ctx, func(conn connection) error {
		return conn.transaction(ctx, func() (err error) {
			same.IDs, err = conn.ids(ctx, sameEmails, int64(models.MostListed)+1)
			return err
		})
	})
	switch {
	case err != nil:
		return err
	case len(same.IDs) > models.MostListed:
		same.IDs, same.More = same.IDs[:models.MostListed], true
	case len(same.IDs) == 0:
		return nil
	}
	return same
}
