package storetest

import (
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
	fields models.Fields
	traits Traits
	model  map[int64]models.User
	held   []*held
	feed   *Follower // nil: changes are not recorded
}

// Actions are what an engine adds to what the machine does: what another program does to its table, for one. They are
// given the machine, to note what they did.
type Actions func(m *Machine) map[string]func(*rapid.T)

// Main runs a package's tests with 20 random sequences of actions in each that tries some, 5 with -short, or as many as
// -rapid.checks says. It sets that flag before any test reads it, as they run at the same time.
func Main(m *testing.M) int {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		some := "20"
		if testing.Short() {
			some = "5"
		}
		_ = checks.Value.Set(some) // it is a number
	}
	return m.Run()
}

// Random tries random sequences of actions. rapid prints the seed and the shortest sequence that fails.
func Random(t *testing.T, open Open, traits Traits, more Actions) {
	rapid.Check(t, func(r *rapid.T) {
		fields := WithAdded(rapid.SampledFrom([]int{0, 1, models.MostAdded}).Draw(r, "added fields"))
		m := &Machine{Users: open(t, fields), fields: fields, traits: traits, model: map[int64]models.User{}}
		if traits.Feed.Switch != nil && rapid.Bool().Draw(r, "changes are recorded") {
			traits.Feed.Switch(t, m.Users, true)
			m.feed = newFollower(m.Users)
			if err := m.feed.export(); err != nil {
				r.Fatal(err)
			}
		}
		actions := map[string]func(*rapid.T){
			"":       m.compareAll,
			"create": m.create, "create more": m.create, "create many": m.createMany,
			"change": m.change, "delete": m.delete, "delete no user": m.deleteNoUser,
			"select": m.selectSome, "page": m.Page, "create and page": m.AndPage(m.create), "change and page": m.AndPage(m.change),
			"import": m.importSome, "hold": m.hold, "let go": m.letGo,
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

// compareAll compares what can be read with the model: the list, and the copy of a client that follows the feed.
func (m *Machine) compareAll(r *rapid.T) {
	m.compare(r)
	if m.feed == nil || m.traits.Feed.Delayed && rapid.Bool().Draw(r, "follows later") {
		return
	}
	limit := rapid.SampledFrom([]int{1, 2, 1000}).Draw(r, "limit")
	if err := m.feed.expect(m.model, limit, m.traits.Feed.Delayed); err != nil {
		r.Fatal(err)
	}
}

// Names are what a user may be called: short, odd, and so long that a page of them is large.
func Names(r *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.StringN(1, 10, -1),
		rapid.SampledFrom([]string{"Ada", "\x1f", "\x00", `"`, `\`, "<&>", "\u2028", strings.Repeat("long", 100_000)}),
	).Draw(r, label)
}

// text returns what a user of the machine may have as a name, or in another field.
func (m *Machine) text(r *rapid.T, label string) string {
	text := Names(r, label)
	if m.traits.NoNUL {
		text = strings.ReplaceAll(text, "\x00", "NUL")
	}
	return text
}

func emails(r *rapid.T) string {
	return rapid.SampledFrom([]string{"user", "User"}).Draw(r, "letters") + fmt.Sprint(rapid.IntRange(0, 20).Draw(r, "email"))
}

// someAdded returns values for a few of the added fields.
func (m *Machine) someAdded(r *rapid.T) (values models.Values) {
	if len(m.fields) == len(Fields()) {
		return values
	}
	for range rapid.IntRange(0, 3).Draw(r, "values") {
		field := rapid.SampledFrom(m.fields[len(Fields()):]).Draw(r, "field")
		if rapid.Bool().Draw(r, "null") {
			values.SetNull(field)
		} else {
			values.Set(field, m.text(r, "value"))
		}
	}
	return values
}

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
		if m.traits.same(user.Email) == m.traits.same(email) && user.ID != id {
			return true
		}
	}
	return false
}

func (m *Machine) create(r *rapid.T) {
	user := With(m.fields, models.NewUser{Name: m.text(r, "name"), Email: emails(r)}, m.someAdded(r))
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

func (m *Machine) change(r *rapid.T) {
	user, change := m.Any(r), m.someAdded(r)
	if rapid.Bool().Draw(r, "changes the name") {
		change.Set(m.fields.Find("name"), m.text(r, "name"))
	}
	if rapid.Bool().Draw(r, "changes the email") {
		change.Set(m.fields.Find("email"), emails(r))
	}
	user.NewUser = With(m.fields, user.NewUser, change)
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
