package postgres

import (
	"context"

	"users-api/models"
)

// List calls send with all users, read while they are sent.
func (u *Users) List(ctx context.Context, send func(models.List) error) error {
	if u.database.closed.Load() {
		return models.ErrClosed
	}
	return send(models.List{Length: -1, Pieces: models.Array(u.Select(ctx, models.Query{}))})
}
