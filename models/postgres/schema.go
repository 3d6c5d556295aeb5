package postgres

import (
	"context"
	"errors"
	"log/slog"

	"users-api/models"
)

// AddColumn adds the column of a field to the table users in the database that a URL names, beside running services.
func AddColumn(ctx context.Context, url string, field *models.Field, logger *slog.Logger) error {
	return errors.New("not yet")
}

// IgnoreEmailCase creates the index with which emails that differ only in the case of ASCII letters are the same. The error
// is [*models.SameEmails] if there are such emails.
func IgnoreEmailCase(ctx context.Context, url string, logger *slog.Logger) error {
	return errors.New("not yet")
}
