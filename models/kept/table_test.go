package kept

import (
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
	unknown error // what Transaction returns
	again   []int64
	readAll int
}

func (t *table) Unchanged() (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.changed.anything && len(t.changed.ids) == 0, nil
}

func (t *table) Transaction(read func(Changes) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown != nil {
		return t.unknown
	}
	return read(t.changed.Take())
}

func (t *table) All() iter.Seq2[models.User, error] {
	t.readAll++
	return each(t.users)
}

func (t *table) Range(from, to int64) iter.Seq2[models.User, error] {
	t.again = append(t.again, pieceNumber(from))
	return each(slices.DeleteFunc(slices.Clone(t.users), func(u models.User) bool { return u.ID < from || u.ID > to }))
}

func each(users []models.User) iter.Seq2[models.User, error] {
	return func(yield func(models.User, error) bool) {
		for _, user := range users {
			if !yield(user, nil) {
				return
			}
		}
	}
}

// put stores a user with an id, in the place of the one that has it.
func (t *table) put(id int64, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	user := models.User{ID: id, NewUser: models.NewUser{Name: name}}
	at, found := slices.BinarySearchFunc(t.users, id, func(u models.User, id int64) int { return int(u.ID - id) })
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
	for piece := range models.Array(each(t.users)) {
		text += string(piece)
	}
	return text
}

// open returns a table and the keeper of its list.
func open(maxBytes int) (*table, *Keeper) {
	t := &table{}
	return t, New(t, maxBytes)
}

// ask returns the list and its version.
func ask(t testing.TB, source *table, keeper *Keeper) (text, version string) {
	t.Helper()
	err := keeper.List(ctx, func(list models.List) error {
		version = list.Version
		for piece, err := range list.Pieces {
			if err != nil {
				return err
			}
			text += string(piece)
		}
		return nil
	}, each(source.users))
	if err != nil {
		t.Fatal(err)
	}
	return text, version
}
