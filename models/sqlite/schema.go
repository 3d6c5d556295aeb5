package sqlite

import (
	"context"
	"errors"

	"users-api/models"
)

// AddColumn adds the column of a field to the table users in the database at path, beside running services.
func AddColumn(ctx context.Context, path string, field *models.Field) error {
	return errors.New("not yet")
}

// IgnoreEmailCase creates the index with which emails that differ only in the case of ASCII letters are the same. The error
// is [*models.SameEmails] if there are such emails.
func IgnoreEmailCase(ctx context.Context, path string) error {
	return errors.New("not yet")
}
