package imports

import (
	"context"

	"users-api/models"
)

// chunk is a group of rows that are stored together, all or none.
type chunk struct {
	*Import
	rows []models.ImportRow

	done    models.Imported
	refused []*models.RowError
	seen    []int64
}

// store stores the rows. An error means that none of them is stored.
func (c *chunk) store(ctx context.Context) error {
	created := c.rows
	var updates []Update
	if c.finds {
		found, err := c.table.Find(ctx, c.rows)
		if err != nil {
			return err
		}
		created, updates = c.compare(found)
	}
	if len(created) > 0 {
		ids, err := c.table.Insert(ctx, created)
		if err != nil {
			return err
		}
		c.done.Created, c.seen = len(ids), append(c.seen, ids...)
	}
	return c.update(ctx, updates)
}

// compare returns which rows create users, and which of the users that exist get new values.
func (c *chunk) compare(found map[int]*models.User) (created []models.ImportRow, updates []Update) {
	email := c.fields.Find("email")
	for at := range c.rows {
		row := &c.rows[at]
		user, exists := found[at]
		if !exists {
			created = append(created, *row)
			continue
		}
		switch {
		case c.options.OnConflict == models.ConflictFails:
			c.refuse(row.Line, user.ID)
		case c.options.OnConflict == models.ConflictSkips,
			c.fields.Differing(&row.Values, &user.NewUser).Without(email) == 0: // emails may differ in their letter case
			c.done.Skipped++
			c.seen = append(c.seen, user.ID)
		default:
			updates = append(updates, Update{user.ID, models.Values{Fields: row.Fields.Without(email), User: row.User}})
		}
	}
	return created, updates
}

func (c *chunk) refuse(line int, id int64) {
	refusal := c.duplicate
	if c.Import.seen.Has(id) {
		refusal = models.ErrRepeated
	}
	c.refused = append(c.refused, &models.RowError{Line: line, Err: refusal})
}

// update updates users. Those that get values for the same fields are updated together.
func (c *chunk) update(ctx context.Context, updates []Update) error {
	groups := map[models.FieldSet][]Update{}
	for _, update := range updates {
		groups[update.Fields] = append(groups[update.Fields], update)
		c.seen = append(c.seen, update.ID)
	}
	for _, group := range groups {
		if err := c.table.Update(ctx, group); err != nil {
			return err
		}
	}
	c.done.Updated = len(updates)
	return nil
}

func (c *chunk) note() {
	c.Import.done.Created += c.done.Created
	c.Import.done.Updated += c.done.Updated
	c.Import.done.Skipped += c.done.Skipped
	for _, row := range c.refused {
		c.Import.refused.Add(row)
	}
	for _, id := range c.seen {
		c.Import.seen.Add(id)
	}
}
