package listcache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// pageOf is the page of a query as it should be.
func (t *table) pageOf(query models.Query) models.Page {
	page := models.Page{Total: int64(len(t.users))}
	var users []models.User
	for _, user := range t.users {
		if query.After == nil || !query.Descending && user.ID > *query.After || query.Descending && user.ID < *query.After {
			users = append(users, user)
		}
	}
	if query.Descending {
		slices.Reverse(users)
	}
	page.More = len(users) > query.Limit
	array := models.NewFields().NewArray(0)
	for _, user := range users[:min(len(users), query.Limit)] {
		array.Add(&user)
		page.Last = user.ID
	}
	page.Users, page.JSON = array.Users, array.End()
	return page
}

// shown is a page as a text, or "" if there is none.
func shown(page *models.Page) string {
	if page == nil {
		return ""
	}
	return fmt.Sprintf("%s, the last is %d, more: %t, %d of %d", page.JSON, page.Last, page.More, page.Users, page.Total)
}

// askPage returns a page, or "" if it is not in memory.
func askPage(t testing.TB, cache *Cache, query models.Query) string {
	t.Helper()
	page, err := cache.Page(ctx, query)
	if err != nil {
		t.Fatal(err)
	}
	return shown(page)
}

// Whatever is written, a page is what the table holds, or it is not in memory.
func TestAPageIsOfTheTable(t *testing.T) {
	t.Parallel()
	ids := rapid.OneOf(rapid.Int64Range(-1100, 1100), rapid.Int64())
	rapid.Check(t, func(r *rapid.T) {
		users, cache := open(1 << 20)
		r.Repeat(map[string]func(*rapid.T){
			"put":        func(r *rapid.T) { users.put(ids.Draw(r, "id"), "a name") },
			"remove":     func(r *rapid.T) { users.remove(ids.Draw(r, "id")) },
			"others put": func(r *rapid.T) { users.others(func() { users.put(ids.Draw(r, "id"), "another name") }) },
			"read the list": func(r *rapid.T) {
				ask(t, users, cache)
				if cache.current == nil {
					r.Fatal("it is not cached")
				}
			},
			"page": func(r *rapid.T) {
				query := models.Query{Limit: rapid.IntRange(1, 20).Draw(r, "limit"), Descending: rapid.Bool().Draw(r, "descending")}
				if rapid.Bool().Draw(r, "after") {
					after := ids.Draw(r, "id")
					query.After = &after
				}
				cached := cache.current != nil && !users.changed.anything && len(users.changed.ids) == 0
				want := users.pageOf(query)
				if got := askPage(t, cache, query); got != shown(&want) && (got != "" || cached) {
					r.Fatalf("%+v: got %s, want %s", query, got, shown(&want))
				}
			},
		})
	})
}

func TestAfterACommitAPageIsNotFromMemoryUntilTheListIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*table){
		"ours":              func(users *table) { users.put(2, "new") },
		"another program's": func(users *table) { users.others(func() { users.put(2, "new") }) },
	} {
		users, cache := open(1 << 20)
		users.put(1, "old")
		query := models.Query{Limit: 10}
		ask(t, users, cache)
		if want := users.pageOf(query); askPage(t, cache, query) != shown(&want) {
			t.Errorf("%s: before, the page is not %s", name, shown(&want))
		}
		write(users)
		for range 3 {
			if got := askPage(t, cache, query); got != "" {
				t.Errorf("%s: after it the page is %s", name, got)
			}
		}
		if users.asked > 3 { // the list, the page, and the first page after the commit
			t.Errorf("%s: the source was asked %d times", name, users.asked)
		}
		ask(t, users, cache)
		if want := users.pageOf(query); askPage(t, cache, query) != shown(&want) {
			t.Errorf("%s: when the list was read again, the page is not %s", name, shown(&want))
		}
	}
}

// What has a condition or no end is read from storage, as is a page so long that it is sent in chunks.
func TestOnlyPagesAreCut(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	var email models.Values
	email.Set(models.NewFields().Find("email"), "")
	for i := range int64(4) {
		users.put(i, strings.Repeat("n", models.PageBytes/2))
	}
	ask(t, users, cache)
	for name, query := range map[string]models.Query{
		"no limit": {}, "a search": {Limit: 1, Contains: "n"}, "a filter": {Limit: 1, Equal: email}, "a long page": {Limit: 3},
	} {
		if got := askPage(t, cache, query); got != "" {
			t.Errorf("%s: got %.100s", name, got)
		}
	}
	query := models.Query{Limit: 2, Descending: true}
	if want := users.pageOf(query); askPage(t, cache, query) != shown(&want) {
		t.Error("a page whose last user makes it long is not cut")
	}
}

// A page right after a write may not wait until a list is read, which may be long.
func TestAPageDoesNotWaitForAList(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	ask(t, users, cache)
	users.put(1, "new")
	began, goOn := make(chan struct{}), make(chan struct{})
	users.after = func() { close(began); <-goOn }
	var wait sync.WaitGroup
	wait.Go(func() { ask(t, users, cache) })
	<-began
	if got := askPage(t, cache, models.Query{Limit: 1}); got != "" {
		t.Errorf("got %s", got)
	}
	close(goOn)
	wait.Wait()
}

// A page that has joined a question before the list turned out to be stale goes to storage, too.
func TestAPageThatWaitsIsReleasedWhenTheListIsStale(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	ask(t, users, cache)
	cache.turn <- struct{}{} // a refresh is under way
	arrived, got := make(chan struct{}), make(chan *models.Page)
	go func() {
		page, _ := cache.Page(arriving{ctx, arrived}, models.Query{Limit: 1})
		got <- page
	}()
	<-arrived
	cache.markStale()
	if page := <-got; page != nil {
		t.Errorf("got %s", shown(page))
	}
	<-cache.turn
}

// A page shows what was committed before it was asked for, so pages share a question only if it was not asked yet.
func TestPagesThatWaitShareOneQuestion(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	users.put(1, "a")
	ask(t, users, cache)
	cache.turn <- struct{}{} // a question is being asked
	var wait sync.WaitGroup
	for range 5 {
		arrived := make(chan struct{})
		wait.Go(func() {
			if page, err := cache.Page(arriving{ctx, arrived}, models.Query{Limit: 1}); err != nil || page == nil {
				t.Errorf("got %s, %v", shown(page), err)
			}
		})
		<-arrived
	}
	<-cache.turn
	wait.Wait()
	if users.asked != 1 {
		t.Errorf("the source was asked %d times", users.asked)
	}
}

// The list is read for pages alone, beside them, once that costs little compared with them.
func TestPagesThatReadMuchFromStorageRefreshTheList(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	for id := range int64(2000) {
		users.put(id, "a name")
	}
	page := models.Query{Limit: 1000}
	expect := func(when string, pages, readAll int) {
		t.Helper()
		for range pages {
			if users.readAll != readAll-1 {
				t.Errorf("%s everything was read %d times before pages had cost as much", when, users.readAll)
			}
			if got := askPage(t, cache, page); got != "" {
				t.Errorf("%s a page is in memory", when)
			}
		}
		for cache.beside.Load() {
			runtime.Gosched()
		}
		if askPage(t, cache, page) == "" || users.readAll != readAll {
			t.Errorf("%s everything was read %d times, want %d", when, users.readAll, readAll)
		}
	}
	expect("first", leastWorth*firstCost/page.Limit, 1)
	users.others(func() {})
	expect("after a list that was not worth it,", 2*leastWorth*2, 2)
	users.others(func() {})
	expect("after two such lists,", 4*leastWorth*2, 3)
	if askPage(t, cache, page) == "" {
		t.Error("the list is stale though nothing was written")
	}
	users.others(func() {})
	expect("after three", 8*leastWorth*2, 4)
	users.others(func() {})
	expect("after a list that was worth it,", leastWorth*2, 5)
	for i := range 3 {
		if users.put(5, fmt.Sprint("name ", i)); askPage(t, cache, page) != "" {
			t.Error("after a write of ours a page is in memory")
		}
		for askPage(t, cache, page) == "" {
			for cache.beside.Load() {
				runtime.Gosched()
			}
		}
	}
	if users.readAll != 5 || len(users.again) != 3 {
		t.Errorf("after writes of ours everything was read %d times, and %d segments", users.readAll-5, len(users.again))
	}
	if readers := cache.current.readers.Load(); readers != 0 {
		t.Errorf("%d readers hold a list that no request reads", readers)
	}
}

func TestWhatEndsAPage(t *testing.T) {
	t.Parallel()
	users, cache := open(1 << 20)
	ask(t, users, cache)
	cache.turn <- struct{}{} // a refresh is under way
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := cache.Page(gone, models.Query{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that goes away: %v", err)
	}
	<-cache.turn
	cache.Close(ctx)
	if _, err := cache.Page(ctx, models.Query{Limit: 1}); !errors.Is(err, models.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
