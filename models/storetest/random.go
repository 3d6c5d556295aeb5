package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"users-api/models"
)

// A Machine does random things to an engine and to a plain model of it, and compares the two.
type Machine struct {
	Users  models.Users
	traits Traits
	model  map[int64]models.User
	held   []*held
}

// Actions are what an engine adds to what the machine does: what another program does to its table, for one. They are
// given the machine, to note what they did.
type Actions func(m *Machine) map[string]func(*rapid.T)

// Random tries random sequences of actions: 20, 5 with -short, or as many as -rapid.checks says. rapid prints the seed and the shortest
// sequence that fails.
func Random(t *testing.T, open Open, traits Traits, more Actions) {
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		some := "20"
		if testing.Short() {
			some = "5"
		}
		_ = checks.Value.Set(some) // it is a number
	}
	rapid.Check(t, func(r *rapid.T) {
		m := &Machine{Users: open(t), traits: traits, model: map[int64]models.User{}}
		actions := map[string]func(*rapid.T){
			"":       m.compare,
			"create": m.create, "create more": m.create, "create many": m.createMany,
			"change": m.change, "delete": m.delete, "delete no user": m.deleteNoUser,
			"select": m.selectSome, "import": m.importSome, "hold": m.hold, "let go": m.letGo,
		}
		if more != nil {
			maps.Copy(actions, more(m))
		}
		r.Repeat(actions)
		for len(m.held) > 0 {
			m.letGo(r)
		}
		if err := m.Users.Close(ctx); err != nil {
			r.Fatal(err)
		}
	})
}

// Names are what a user may be called: short, odd, and so long that a page of them is large.
func Names(r *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.StringN(1, 10, -1),
		rapid.SampledFrom([]string{"Ada", "\x1f", "\x00", `"`, `\`, "<&>", "\u2028", strings.Repeat("long", 100_000)}),
	).Draw(r, label)
}

// name returns what a user of the machine may be called.
func (m *Machine) name(r *rapid.T) string {
	name := Names(r, "name")
	if m.traits.NoNUL {
		name = strings.ReplaceAll(name, "\x00", "NUL")
	}
	return name
}

func emails(r *rapid.T) string { return fmt.Sprint("user", rapid.IntRange(0, 30).Draw(r, "email")) }

// Note notes that a user is stored, or, without an email, that it is not.
func (m *Machine) Note(user models.User) {
	if m.model[user.ID] = user; user.Email == "" {
		delete(m.model, user.ID)
	}
}

// Any returns a user of the model, and skips the action when there is none.
func (m *Machine) Any(r *rapid.T) models.User {
	if len(m.model) == 0 {
		r.Skip("there are no users")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.model))).Draw(r, "id")
	return m.model[id]
}

// unusedID is an id that no user has.
const unusedID = -1 << 63

// taken reports whether another user of the model than the one with the id has an email.
func (m *Machine) taken(email string, id int64) bool {
	for _, user := range m.model {
		if user.Email == email && user.ID != id {
			return true
		}
	}
	return false
}

func (m *Machine) create(r *rapid.T) {
	user := models.NewUser{Name: m.name(r), Email: emails(r)}
	id, err := m.Users.Create(ctx, user)
	if (err != nil) != m.taken(user.Email, unusedID) {
		r.Fatalf("creating %s: %v", user.Email, err)
	}
	if err == nil {
		m.noteStored(r, id, user)
	}
}

// noteStored notes a user with the time that storage gave it.
func (m *Machine) noteStored(r *rapid.T, id int64, user models.NewUser) {
	stored, err := m.Users.Get(ctx, id)
	if _, given := m.model[id]; given || err != nil || stored.ID != id || !SameValues(stored.NewUser, user) {
		r.Fatalf("%d, given before: %t, is %.200v, %v", id, given, stored, err)
	}
	m.Note(stored)
}

// createMany creates users at once, so that they share commits.
func (m *Machine) createMany(r *rapid.T) {
	n, before := rapid.IntRange(1, 300).Draw(r, "n"), len(m.model)
	ids, errs := make([]int64, n), make([]error, n)
	user := func(i int) models.NewUser {
		return models.NewUser{Name: "n", Email: fmt.Sprintf("many%d-%d", before, i)}
	}
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { ids[i], errs[i] = m.Users.Create(ctx, user(i)) })
	}
	wait.Wait()
	for i, id := range ids {
		if (errs[i] != nil) != m.taken(user(i).Email, unusedID) {
			r.Fatalf("creating %s: %v", user(i).Email, errs[i])
		}
		if errs[i] == nil {
			m.noteStored(r, id, user(i))
		}
	}
}

func (m *Machine) field(name string) *models.Field { return Fields().Find(name) }

func (m *Machine) change(r *rapid.T) {
	user := m.Any(r)
	var change models.Values
	if rapid.Bool().Draw(r, "changes the name") {
		user.Name = m.name(r)
		change.Set(m.field("name"), user.Name)
	}
	if rapid.Bool().Draw(r, "changes the email") {
		user.Email = emails(r)
		change.Set(m.field("email"), user.Email)
	}
	got, err := m.Users.Change(ctx, user.ID, change, nil)
	switch {
	case m.taken(user.Email, user.ID):
		if err == nil {
			r.Fatalf("two users have the email %s", user.Email)
		}
	case err != nil || !Same(got, user):
		r.Fatalf("the change returned %.200v, %v, want %.200v", got, err, user)
	default:
		m.Note(user)
	}
}

func (m *Machine) delete(r *rapid.T) {
	user := m.Any(r)
	if err := m.Users.Delete(ctx, user.ID, nil); err != nil {
		r.Fatal(err)
	}
	delete(m.model, user.ID)
}

func (m *Machine) deleteNoUser(r *rapid.T) {
	if err := m.Users.Delete(ctx, unusedID, nil); !errors.Is(err, models.ErrNotFound) {
		r.Fatal(err)
	}
}

func (m *Machine) sorted() []models.User {
	return slices.SortedFunc(maps.Values(m.model), func(a, b models.User) int { return cmp.Compare(a.ID, b.ID) })
}

// compare compares the list and the users one by one with the model.
func (m *Machine) compare(r *rapid.T) {
	want := m.text()
	err := m.Users.List(ctx, func(list models.List) error {
		got, err := join(list)
		if err == nil && (got != want || list.Version != "" && list.Length != len(got)) {
			r.Fatalf("the list is\n%.2000s\nwant\n%.2000s", got, want)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

// shown is a user in the list, as the specification has it.
type shown struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"created_at"`
}

// text is the list that the model makes, by encoding/json.
func (m *Machine) text() string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	users := []shown{}
	for _, user := range m.sorted() {
		users = append(users, shown{user.ID, user.Name, user.Email, user.CreatedAt})
	}
	if err := encoder.Encode(users); err != nil {
		panic(err) // they are texts and numbers
	}
	return strings.TrimSuffix(text.String(), "\n")
}
