package postgres

import (
	"context"
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"

	"users-api/models"
)

// A chunk is at most so many rows, or a little more than so many bytes of their texts. 1,000,000 new users take 9 s of the
// server's CPU and 1.3 s of ours so; one by one, as a view gets them, each takes 60 and 100 µs.
const (
	chunkRows  = 4096
	chunkBytes = 4 << 20
)

// errOther: a statement for many rows has done something else than it would with each of them. Another transaction has
// stored one of the emails meanwhile, or a rule of the table stands behind it.
var errOther = errors.New("rows were not stored together")

// storeAll stores the rows, chunk by chunk. An error ends the transaction; a row that is refused does not.
func (i *fileImport) storeAll(ctx context.Context) error {
	for chunk, err := range inChunks(i.rows.Rows()) {
		if err == nil {
			err = i.storeChunk(ctx, chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inChunks gathers rows. Each chunk is valid until the next is asked for. An error is the last thing that comes.
func inChunks(rows iter.Seq2[models.ImportRow, error]) iter.Seq2[[]models.ImportRow, error] {
	return func(yield func([]models.ImportRow, error) bool) {
		var chunk []models.ImportRow
		bytes := 0
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			chunk = append(chunk, row)
			bytes += len(row.User.Name) + len(row.User.Email)
			if len(chunk) < chunkRows && bytes < chunkBytes {
				continue
			}
			if !yield(chunk, nil) {
				return
			}
			chunk, bytes = chunk[:0], 0
		}
		yield(chunk, nil)
	}
}

// storeChunk stores rows. One whose email is that of a row before it is stored after all others: it must find what that
// row has left.
func (i *fileImport) storeChunk(ctx context.Context, rows []models.ImportRow) error {
	for len(rows) > 0 {
		var first, later []models.ImportRow
		emails := make(map[string]bool, len(rows))
		for _, row := range rows {
			if emails[row.User.Email] {
				later = append(later, row)
				continue
			}
			emails[row.User.Email] = true
			first = append(first, row)
		}
		if err := i.storeDifferent(ctx, first); err != nil {
			return err
		}
		rows = later
	}
	return nil
}

// storeDifferent stores rows with different emails. As many are stored together as can be: where a statement fails, half
// as many are tried, down to the one row that is to blame, and where it does not, twice as many.
func (i *fileImport) storeDifferent(ctx context.Context, rows []models.ImportRow) error {
	for len(rows) > 0 {
		n := min(i.together, len(rows))
		stored, err := i.storeSome(ctx, rows[:n])
		if err != nil {
			return err
		}
		if !stored && n > 1 {
			i.together = n / 2
			continue
		}
		if stored && i.is.together {
			i.together = min(2*i.together, chunkRows)
		}
		rows = rows[n:]
	}
	return nil
}

// storeSome stores rows, and reports whether it has: a single row that is not stored is refused. No step may take longer
// than a search.
func (i *fileImport) storeSome(ctx context.Context, rows []models.ImportRow) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	if len(rows) == 1 {
		before := i.refused.Refused
		err := i.storeAlone(ctx, rows[0])
		return i.refused.Refused == before, err
	}
	chunk := &chunk{fileImport: i, rows: rows, texts: i.users.table.chunkTexts(i.is.emailType)}
	err = i.conn.inSavepoint(ctx, func() error { return chunk.store(ctx) })
	if isOfRow(err) {
		return false, nil
	}
	if err == nil {
		chunk.note()
	}
	return err == nil, err
}

// chunk is rows on their way into the table by one statement.
type chunk struct {
	*fileImport
	rows  []models.ImportRow
	texts chunkTexts

	done    models.Imported
	refused []*models.RowError
	seen    []int64
}

// store stores the rows. An error means that nothing is known of any of them.
func (c *chunk) store(ctx context.Context) error {
	found, err := c.find(ctx, c.rows)
	if err != nil {
		return err
	}
	var names, emails, newNames []string
	var ids []int64
	for at, row := range c.rows {
		user, exists := found[at]
		if !exists {
			names, emails = append(names, row.User.Name), append(emails, row.User.Email)
			continue
		}
		outcome, refusal := c.conflict(user, row.User, c.duplicate)
		if errors.Is(refusal, errOther) {
			return refusal
		}
		c.count(row, user.id, outcome, refusal)
		if outcome == updated {
			ids, newNames = append(ids, user.id), append(newNames, row.User.Name)
		}
	}
	if err := c.insert(ctx, names, emails); err != nil {
		return err
	}
	return c.update(ctx, ids, newNames)
}

// count counts a row whose email exists.
func (c *chunk) count(row models.ImportRow, id int64, did outcome, refusal error) {
	switch {
	case refusal != nil:
		c.refused = append(c.refused, &models.RowError{Line: row.Line, Err: refusal})
		return
	case did == updated:
		c.done.Updated++
	default:
		c.done.Skipped++
	}
	c.seen = append(c.seen, id)
}

// insert stores new users.
func (c *chunk) insert(ctx context.Context, names, emails []string) error {
	if len(names) == 0 {
		return nil
	}
	var ids []int64
	err := c.conn.query(ctx, func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, c.texts.insert, names, emails)
	if err == nil && len(ids) != len(names) {
		err = errOther
	}
	if err == nil && c.is.triggers {
		err = c.expectStored(ctx, ids)
	}
	c.done.Created, c.seen = len(ids), append(c.seen, ids...)
	return err
}

// expectStored returns an error when a trigger has taken away what was stored, or has given it another id.
func (c *chunk) expectStored(ctx context.Context, ids []int64) error {
	n, _, err := c.conn.number(ctx, "SELECT count(*) FROM users WHERE id = ANY($1::int8[])", ids)
	if err == nil && n != int64(len(ids)) {
		err = errOther
	}
	return err
}

// update gives users other names.
func (c *chunk) update(ctx context.Context, ids []int64, names []string) error {
	if len(ids) == 0 {
		return nil
	}
	n, err := c.conn.exec(ctx, "UPDATE users SET name = n.name FROM unnest($1::int8[], $2::text[]) AS n (id, name) "+
		"WHERE users.id = n.id", ids, names)
	if err == nil && n != int64(len(ids)) {
		err = errOther
	}
	return err
}

// note adds what the chunk has done to what the import has.
func (c *chunk) note() {
	c.fileImport.done.Created += c.done.Created
	c.fileImport.done.Updated += c.done.Updated
	c.fileImport.done.Skipped += c.done.Skipped
	for _, row := range c.refused {
		c.fileImport.refused.Add(row)
	}
	for _, id := range c.seen {
		c.fileImport.seen.Add(id)
	}
}
