package listcache

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"users-api/models"
)

var ctx = context.Background()

// table is the plainest source: users in memory, which remembers what was written as an engine does.
type table struct {
	mu      sync.Mutex
	users   []models.User // by ascending id
	changed Changes
	unknown error                       // what Unchanged and Transaction return
	during  func(context.Context) error // what a transaction does first
	silent  func(context.Context) error // what each call does instead
	after   func()                      // what it does last
	breaks  error                       // what a reading ends with instead of its last user
	asked   int                         // how often Unchanged was called
	again   []int64
	readAll int
	read    int // users
}

func (t *table) Unchanged(ctx context.Context) (bool, error) {
	if t.silent != nil {
		return false, t.silent(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if t.unknown != nil {
		return false, t.unknown
	}
	return !t.changed.anything && len(t.changed.ids) == 0, nil
}

func (t *table) Transaction(ctx context.Context, read func(Changes) error) error {
	if t.silent != nil {
		return t.silent(ctx)
	}
	if t.after != nil {
		defer func() { t.after() }()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown != nil {
		return t.unknown
	}
	if t.during != nil {
		if err := t.during(ctx); err != nil {
			return err
		}
	}
	return read(t.changed.Take())
}

func (t *table) Cursor() string { return "" }

func (t *table) All() iter.Seq2[models.User, error] {
	t.readAll++
	return t.reading(t.users)
}

// reading yields users as a source does, which may fail midway.
func (t *table) reading(users []models.User) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		for i, user := range users {
			t.read++
			if t.breaks != nil && i == len(users)-1 {
				yield(models.User{}, t.breaks)
				return
			}
			if !yield(user, nil) {
				return
			}
		}
	}
}

func (t *table) Range(from, to int64) iter.Seq2[models.User, error] {
	t.again = append(t.again, segmentNumber(from))
	return t.reading(slices.DeleteFunc(slices.Clone(t.users), func(u models.User) bool { return u.ID < from || u.ID > to }))
}

// paged yields users in one page.
func paged(users []models.User) iter.Seq2[[]models.User, error] {
	return func(yield func([]models.User, error) bool) { yield(users, nil) }
}

// put stores a user with an id, in the place of the one that has it.
func (t *table) put(id int64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	user := models.User{ID: id, NewUser: models.NewUser{Name: name}}
	at, found := slices.BinarySearchFunc(t.users, id, func(u models.User, id int64) int { return cmp.Compare(u.ID, id) })
	if found {
		t.users = slices.Delete(t.users, at, at+1)
	}
	t.users = slices.Insert(t.users, at, user)
	t.changed.Add(id)
}

// remove deletes the user with an id.
func (t *table) remove(id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users = slices.DeleteFunc(t.users, func(u models.User) bool { return u.ID == id })
	t.changed.Add(id)
}

// others writes as somebody of whom nothing is known.
func (t *table) others(write func()) {
	write()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed.AddAll()
}

// text is the list as it should be.
func (t *table) text() (text string) {
	for segment := range models.NewFields().NewArray(0).Chunks(paged(t.users)) {
		text += string(segment)
	}
	return text
}

// open returns a table and the cache of its list.
func open(maxBytes int) (*table, *Cache) {
	t := &table{}
	return t, New(t, models.NewFields(), maxBytes)
}

// ask returns the list and its version.
func ask(t testing.TB, source *table, cache *Cache) (text, version string) {
	t.Helper()
	err := cache.List(ctx, func(list models.List) error {
		version = list.Version
		for segment, err := range list.Chunks {
			if err != nil {
				return err
			}
			text += string(segment)
		}
		return nil
	}, paged(source.users))
	if err != nil {
		t.Fatal(err)
	}
	return text, version
}
