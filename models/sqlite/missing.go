package sqlite

import (
	"iter"
	"math"

	"users-api/models"
)

// deleteMissing deletes the users that are not in the file. If there are too many, it only counts the rest.
func (i *fileImport) deleteMissing(tx *transaction) error {
	missing := 0
	for id, err := range allIDs(tx.conn) {
		if err == nil {
			err = i.stopped()
		}
		if err != nil {
			return err
		}
		if i.present.Has(id) {
			continue
		}
		if missing++; missing > i.options.MaxDeletes {
			continue
		}
		if err := tx.inSavepoint(func(tx *transaction) error { return tx.delete(id, nil) }); err != nil {
			return err
		}
		i.done.Deleted++
	}
	if missing > i.options.MaxDeletes {
		return &models.TooManyDeletes{Missing: missing, Max: i.options.MaxDeletes}
	}
	return nil
}

// allIDs yields the ids of all users. Users already yielded may be deleted meanwhile.
func allIDs(conn connection) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		const page = 10_000
		for from, more := int64(math.MinInt64), true; more; {
			var ids []int64
			err := conn.query(func(r row) error {
				ids = append(ids, r.number(0)) // it is the rowid: see describeTable
				return nil
			}, "SELECT id FROM users WHERE id >= ? ORDER BY id"+limited, from, int64(page))
			if err != nil {
				yield(0, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if more = len(ids) == page && ids[page-1] < math.MaxInt64; more {
				from = ids[page-1] + 1
			}
		}
	}
}
