package postgres

import (
	"context"
	"log/slog"

	"users-api/models"
)

// IgnoreEmailCase creates the index with which emails that differ only in the case of ASCII letters are the same. The error
// is [*models.SameEmails] if there are such emails.
//
// One that is broken off and not valid still refuses emails: see [database.build].
func IgnoreEmailCase(ctx context.Context, url string, logger *slog.Logger) error {
	return changeSchema(ctx, url, logger, func(d *database) error {
		err := d.inTurn(ctx, func() error {
			return d.build(ctx, caseIndex, d.expectDifferentEmails, logger)
		})
		if err != nil {
			return err
		}
		// Each service checks the table once a second: when this returns, all follow the index.
		return sleep(ctx, checkEvery+checkEvery/10)
	})
}

// caseIndex is the index that ignores the case of emails.
var caseIndex = index{"users_email_nocase", createCaseIndex, findCaseIndex}

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
