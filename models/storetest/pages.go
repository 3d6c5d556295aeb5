package storetest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// errNotInMemory: nothing was committed since the list was cached, and yet the page is not in memory.
var errNotInMemory = errors.New("the list is cached, and the page is not in memory")

// cachedPage returns the page of a query from memory, after the list was read. It is nil if the list is not cached, if the page
// is too long, or if others go on to commit between the list and the page: of PostgreSQL, any database of the server counts.
func cachedPage(users models.Users, query models.Query, long bool) (page *models.Page, err error) {
	for range 100 {
		isCached, err := readList(users)
		if err != nil || !isCached {
			return nil, err
		}
		if page, err = users.Page(ctx, query); err != nil || page != nil || long {
			return page, err
		}
		before := cachedLists(users)
		if _, err = readList(users); err != nil {
			return nil, err
		}
		if cachedLists(users) > before {
			return nil, errNotInMemory
		}
	}
	return nil, nil
}

// readList reads the list, and reports whether it is cached.
func readList(users models.Users) (isCached bool, err error) {
	err = users.List(ctx, func(list models.List) error {
		isCached = list.Version != ""
		return nil
	})
	return isCached, err
}

// cachedLists returns how many lists were answered without reading a user.
func cachedLists(users models.Users) uint64 {
	return users.(interface{ Stats() models.Stats }).Stats().Cached
}

// storedPage makes the page of a query from storage, and reports whether it is too long for memory.
func storedPage(users models.Users, query models.Query) (page models.Page, long bool, err error) {
	array, bytes, more := Fields().NewArray(0), 0, query
	more.Limit++
	for user, err := range models.Each(users.Select(ctx, more)) {
		if err != nil {
			return page, long, err
		}
		if page.More = page.Users == query.Limit; page.More {
			break
		}
		long = bytes >= models.PageBytes
		bytes = array.Add(&user)
		page.Users, page.Last = page.Users+1, user.ID
	}
	page.JSON = array.End()
	if page.Cursor, err = users.Cursor(ctx); err == nil {
		page.Total, err = users.Count(ctx, query)
	}
	return page, long, err
}

// expectPage compares a page from memory, if there is one, with the same from storage.
func expectPage(t testing.TB, users models.Users, query models.Query) {
	t.Helper()
	want, long, err := storedPage(users, query)
	if err != nil {
		t.Fatal(err)
	}
	page, err := cachedPage(users, query, long)
	switch {
	case err != nil:
		t.Errorf("%+v: %v", query, err)
	case page != nil && (long || !reflect.DeepEqual(*page, want)):
		t.Errorf("%+v: the page in memory is %.1000v, want %.1000v, too long: %t", query, *page, want, long)
	}
}

// pagesInMemory compares pages of a table with gaps.
func pagesInMemory(t *testing.T, users models.Users) {
	OneGoroutine(t)
	expectAll := func() {
		t.Helper()
		for _, limit := range []int{1, 2, 100, 1000} {
			for _, descending := range []bool{false, true} {
				expectPage(t, users, models.Query{Limit: limit, Descending: descending})
				for _, after := range []int64{math.MinInt64, -1, 0, 1, 2, 511, 512, 1023, 1024, 1200, 1300, math.MaxInt64} {
					expectPage(t, users, models.Query{Limit: limit, Descending: descending, After: &after})
				}
			}
		}
	}
	expectAll() // of no users
	var rows []models.NewUser
	for i := range 1200 {
		rows = append(rows, models.NewUser{Name: "n", Email: string(rune('a'+i%26)) + string(rune(0x4e00+i))})
	}
	if _, err := users.Import(ctx, Rows(rows...), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	expectAll()
	all := ids(t, users, models.Query{})
	for at := range slices.Values([]int{0, 1, 2, 510, 511, 512, 700, 1023, 1024, 1199}) {
		if err := users.Delete(ctx, all[at], nil); err != nil {
			t.Fatal(err)
		}
	}
	expectAll()
}

// AndPage returns an action after which a page is asked for at once, before any list.
func (m *Machine) AndPage(action func(*rapid.T)) func(*rapid.T) {
	return func(r *rapid.T) { action(r); m.Page(r) }
}

// Page compares a page with the model: as it comes, or from memory if the list is cached.
func (m *Machine) Page(r *rapid.T) {
	query := models.Query{Limit: rapid.IntRange(1, 10).Draw(r, "limit"), Descending: rapid.Bool().Draw(r, "descending")}
	if rapid.Bool().Draw(r, "after") {
		query.After = to(rapid.OneOf(rapid.Int64Range(-2100, 2100), rapid.Int64()).Draw(r, "id"))
	}
	want := m.modelPage(query)
	page, err := m.Users.Page(ctx, query)
	if err == nil && page == nil && rapid.Bool().Draw(r, "from memory") {
		page, err = cachedPage(m.Users, query, len(want.JSON) > models.PageBytes)
	}
	if err != nil {
		r.Fatal(err)
	}
	if page == nil {
		return // storage is asked, as select does
	}
	if want.Cursor, err = m.Users.Cursor(ctx); err != nil {
		r.Fatal(err)
	}
	if m.traits.Feed.Delayed {
		want.Cursor = page.Cursor
	}
	if !reflect.DeepEqual(*page, want) {
		r.Fatalf("%+v: the page is %.2000v, want %.2000v", query, *page, want)
	}
}

// modelPage makes a page from the model, without its cursor.
func (m *Machine) modelPage(query models.Query) models.Page {
	users := m.sorted()
	page := models.Page{Total: int64(len(users))}
	if query.Descending {
		slices.Reverse(users)
	}
	if query.After != nil {
		users = slices.DeleteFunc(users, func(user models.User) bool {
			return query.Descending == (user.ID > *query.After) || user.ID == *query.After
		})
	}
	if page.More = len(users) > query.Limit; page.More {
		users = users[:query.Limit]
	}
	if page.Users = len(users); page.Users > 0 {
		page.Last = users[len(users)-1].ID
	}
	page.JSON = []byte(m.json(users))
	return page
}
