package models

import (
	"bytes"
	"context"
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"gorm.io/gorm"

	"users-api/models/listcache"
)

// Page is a part of all users at one moment, as one JSON array.
type Page struct {
	JSON   []byte
	Users  int    // how many are in it
	Last   Place  // where the last of them stands
	More   bool   // others follow
	Total  int64  // how many users there are
	Cursor string // of the feed, at that moment; "" if changes are not recorded
}

const (
	// UserBytes is the most that nearly all users need as JSON.
	UserBytes = 128
	// PageBytes is how much of a page is held until its end, because its headers say whether more users follow.
	PageBytes = 1000 * UserBytes
	// seekCost is what finding the first user of a page costs in storage, in users.
	seekCost = 8
)

// List calls send with all users, and returns what send returns, until when the list stays valid. It comes from memory,
// or is read while it is sent if it is too large for that.
func (u *Users) List(ctx context.Context, send func(List) error) error {
	cached, release, err := u.cache.List(ctx)
	defer release()
	switch {
	case err != nil:
		return u.storageError(ctx, err)
	case cached == nil:
		u.cache.Streamed.Add(1)
		return send(List{Length: -1, Chunks: u.streamed(ctx)})
	}
	return send(List{Version: cached.Version(), Length: cached.Length, Cursor: cached.Cursor, Chunks: cached.Chunks})
}

// streamed yields the list while it is read, and notes whether it has become small enough to be cached.
func (u *Users) streamed(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		total, array := 0, u.fields.NewArray(0)
		for chunk, err := range array.Chunks(u.Select(ctx, Query{})) {
			if total += len(chunk); !yield(chunk, err) || err != nil {
				return
			}
		}
		u.cache.NoteSize(array.Users, total)
	}
}

// JSON returns the user with an id as JSON, which must not be changed: from memory, or else from storage.
func (u *Users) JSON(ctx context.Context, id int64) ([]byte, error) {
	list, err := u.cache.Peek(ctx, seekCost)
	switch {
	case err != nil:
		return nil, u.storageError(ctx, err)
	case list == nil:
		user, err := u.Get(ctx, id)
		return u.fields.AppendUser(nil, &user), err
	}
	if user := list.Row(id); user != nil {
		return user, nil
	}
	return nil, ErrNotFound
}

// Page returns the page that a query selects if it is in memory, as of one moment: of all users, or the user with an
// email. Otherwise it returns nil, and [Users.Select] reads the users.
func (u *Users) Page(ctx context.Context, query Query) (*Page, error) {
	if query.Sort != "" || query.Skip > 0 {
		return nil, nil
	}
	if query.Limit == 0 || len(query.Where) > 0 {
		return u.pageByEmail(ctx, query)
	}
	list, err := u.cache.Peek(ctx, seekCost+query.Limit)
	if list == nil {
		return nil, u.storageError(ctx, err)
	}
	page := &Page{
		JSON:  append(make([]byte, 0, min(query.Limit*UserBytes, list.Length)), '['),
		Total: int64(list.Rows), Cursor: list.Cursor,
	}
	var after *int64
	if query.After != nil {
		after = &query.After.ID
	}
	for id, user := range list.After(after, query.Descending) {
		if page.More = page.Users == query.Limit; page.More {
			break
		}
		if len(page.JSON) >= PageBytes {
			return nil, nil // it is too long to be held
		}
		if page.Users > 0 {
			page.JSON = append(page.JSON, ',')
		}
		page.JSON = append(page.JSON, user...)
		page.Users, page.Last.ID = page.Users+1, id
	}
	page.JSON = append(page.JSON, ']')
	return page, nil
}

// pageByEmail returns the user with an email if it is in memory, and nil otherwise, also if there may be no such user.
func (u *Users) pageByEmail(ctx context.Context, query Query) (*Page, error) {
	email := u.fields.Find("email")
	if len(query.Where) != 1 || query.After != nil {
		return nil, nil
	}
	only, _ := query.Where[0].(Comparison)
	sought, ok := only.value.(string)
	if !ok || only.column != email.Name || only.operator != Equal {
		return nil, nil
	}
	table, err := u.table(ctx)
	if err != nil || !table.uniqueEmail {
		return nil, err
	}
	row, cursor, err := u.cache.Find(ctx, u.key(sought), seekCost)
	if row == nil {
		return nil, u.storageError(ctx, err)
	}
	// No other text in the JSON of a user looks like this field: quotes in a text are escaped.
	field, text := append(appendText([]byte(email.key), sought), ','), row
	if table.ignoresCase {
		field, text = []byte(LowerASCII(string(field))), []byte(LowerASCII(string(row)))
	}
	if !bytes.Contains(text, field) {
		return nil, nil
	}
	return &Page{JSON: slices.Concat([]byte("["), row, []byte("]")), Users: 1, Total: 1, Cursor: cursor}, nil
}

// key returns the hash by which the list finds a user by email.
func (u *Users) key(email string) uint64 { return maphash.String(u.seed, LowerASCII(email)) }

// listRows returns the rows of the list with ids from one to another, as a transaction sees them.
type listRows func(tx *gorm.DB) func(from, to int64) iter.Seq2[listcache.Row, error]

// rows returns the users as rows of the list, as a transaction sees them.
func (u *Users) rows(tx *gorm.DB) func(from, to int64) iter.Seq2[listcache.Row, error] {
	return func(from, to int64) iter.Seq2[listcache.Row, error] {
		users := tx.Order("id")
		if from != math.MinInt64 || to != math.MaxInt64 {
			users = users.Where("id BETWEEN ? AND ?", from, to)
		}
		return func(yield func(listcache.Row, error) bool) {
			var text []byte
			for user, err := range u.ahead(u.each(users)) {
				if err != nil {
					yield(listcache.Row{}, err)
					return
				}
				text = u.fields.AppendUser(text[:0], user)
				if !yield(listcache.Row{ID: user.ID, Key: u.key(user.Email), JSON: text}, nil) {
					return
				}
			}
		}
	}
}
