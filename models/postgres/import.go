package postgres

import (
	"context"
	"iter"

	"users-api/models"
)

// Import is not there yet.
func (u *Users) Import(context.Context, iter.Seq2[models.ImportRow, error], models.ImportOptions) (models.Imported, error) {
	if u.database.closed.Load() {
		return models.Imported{}, models.ErrClosed
	}
	return models.Imported{}, &models.StorageError{Text: "imports into PostgreSQL are not there yet"}
}
