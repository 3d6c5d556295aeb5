package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// missingPage is how many ids are checked together.
const missingPage = 10_000

// deleteMissing deletes the users that are not in the file. If there are too many, it only counts the rest.
func (i *fileImport) deleteMissing(ctx context.Context) error {
	missing := 0
	for from, more := int64(math.MinInt64), true; more; {
		ids, err := i.idsFrom(ctx, from)
		if err != nil {
			return err
		}
		if more = len(ids) == missingPage && ids[len(ids)-1] < math.MaxInt64; more {
			from = ids[len(ids)-1] + 1
		}
		gone := ids[:0]
		for _, id := range ids {
			if !i.seen.Has(id) {
				gone = append(gone, id)
			}
		}
		if missing += len(gone); missing > i.options.MaxDeletes || len(gone) == 0 {
			continue
		}
		if err := i.deleteAll(ctx, gone); err != nil {
			return err
		}
	}
	if missing > i.options.MaxDeletes {
		return &models.TooManyDeletes{Missing: missing, Max: i.options.MaxDeletes}
	}
	return nil
}

// idsFrom returns the lowest ids that are at least from.
func (i *fileImport) idsFrom(ctx context.Context, from int64) (ids []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	err = i.conn.query(ctx, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, "SELECT id::int8 FROM users WHERE id >= $1::int8 ORDER BY id LIMIT $2::int8", from, int64(missingPage))
	return ids, err
}

// deleteAll deletes users. If one is still there, a trigger ignored its deletion; one that another program has deleted
// meanwhile is not counted.
func (i *fileImport) deleteAll(ctx context.Context, ids []int64) error {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	deleted, err := i.conn.exec(ctx, "DELETE FROM users WHERE id = ANY($1::int8[])", ids)
	if err != nil {
		return err
	}
	i.done.Deleted += int(deleted)
	if deleted == int64(len(ids)) {
		return nil
	}
	left, _, err := i.conn.number(ctx, "SELECT count(*) FROM users WHERE id = ANY($1::int8[])", ids)
	if err == nil && left > 0 {
		err = models.ErrIgnored
	}
	return err
}
