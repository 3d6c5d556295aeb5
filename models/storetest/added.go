package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// withAdded are what the tests of added fields share: an engine whose table has them.
type withAdded struct {
	users  models.Users
	fields models.Fields
	traits Traits
}

// addedSuite are the tests of the fields that a setting adds. Each needs one engine.
var addedSuite = []struct {
	name string
	run  func(withAdded, *testing.T)
}{
	{"a value is read as it was stored, whatever it is", withAdded.values},
	{"a change of one field leaves the others alone", withAdded.changes},
	{"a filter finds the users who have a value", withAdded.filters},
	{"a search finds a text in any field", withAdded.searches},
	{"a row of a file sets the fields that it has", withAdded.imports},
	{"rows of a file may have different fields", withAdded.differentRows},
}

func runAdded(t *testing.T, open Open, traits Traits, fields models.Fields) {
	for _, test := range addedSuite {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(withAdded{open(t, fields), fields, traits}, t)
		})
	}
}

// added returns the fields that the setting adds.
func (w withAdded) added() models.Fields {
	return slices.DeleteFunc(slices.Clone(w.fields), func(field *models.Field) bool { return !field.Added })
}

// user returns a user whose added fields have a value, or NULL without one.
func (w withAdded) user(email string, value func(i int) *string) models.NewUser {
	user := models.NewUser{Name: "n", Email: email}
	for i, field := range w.added() {
		if text := value(i); text != nil {
			field.Set(&user, *text)
		}
	}
	return user
}

// create creates a user and returns it as it is stored.
func (w withAdded) create(t *testing.T, user models.NewUser) models.User {
	t.Helper()
	id, err := w.users.Create(ctx, user)
	if err != nil {
		t.Fatalf("creating %s: %v", user.Email, err)
	}
	return w.expect(t, id, user)
}

// expect expects that a user is stored with values, and returns it.
func (w withAdded) expect(t *testing.T, id int64, want models.NewUser) models.User {
	t.Helper()
	got, err := w.users.Get(ctx, id)
	if err != nil || got.ID != id || !SameValues(got.NewUser, want) {
		t.Errorf("%d is %.300s, %v, want %.300s", id, w.fields.AppendUser(nil, &got), err, w.fields.AppendCreated(nil, id, &want))
	}
	return got
}

// values stores odd values, each in every field beside all others. What is read together stays together: a user that was
// read earlier must not get the values of a later one.
func (w withAdded) values(t *testing.T) {
	values := []*string{nil, to(""), to("x"), to(" "), to("NULL"), to("null"), to(`{"a":[1]}`), to(`{NULL,"x"}`),
		to("'quoted'"), to(`"double"`), to("`tick`"), to(`back\slash`), to("lines\r\nand\ttabs"), to("be\x1ffore"),
		to("ä\u2028ß"), to("?"), to("$1"), to("-1"), to("1e3"), to(withNUL)}
	if w.traits.NoNUL {
		expectNULRefused(t, w.users, w.user("nul", func(int) *string { return to(withNUL) }))
		values = values[:len(values)-1]
	}
	var want []models.User
	for at := range values {
		want = append(want, w.create(t, w.user(fmt.Sprint(at), func(i int) *string { return values[(at+i)%len(values)] })))
	}
	long := strings.Repeat("long", 1<<18) // 1 MiB
	last := w.added()[len(w.added())-1]
	user := models.NewUser{Name: "n", Email: "long"}
	last.Set(&user, long)
	want = append(want, w.create(t, user))
	w.expectAll(t, want)
}

// expectAll expects users in the list, in pages and in an export.
func (w withAdded) expectAll(t *testing.T, want []models.User) {
	t.Helper()
	var shown []string
	for _, user := range want {
		shown = append(shown, string(w.fields.AppendUser(nil, &user)))
	}
	text := "[" + strings.Join(shown, ",") + "]"
	if got, _ := Text(t, w.users); got != text {
		t.Errorf("the list is\n%.3000s\nwant\n%.3000s", got, text)
	}
	var selected, exported []models.User
	for user, err := range models.Each(w.users.Select(ctx, models.Query{})) {
		if err != nil {
			t.Fatal(err)
		}
		selected = append(selected, user)
	}
	for user, err := range Exported(ctx, w.users, models.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		exported = append(exported, user)
	}
	for what, got := range map[string][]models.User{"pages": selected, "an export": exported} {
		if !slices.EqualFunc(got, want, Same) {
			t.Errorf("%s have %.3000v, want %.3000v", what, got, want)
		}
	}
}

func (w withAdded) changes(t *testing.T) {
	user := w.create(t, w.user("ada", func(i int) *string { return to(fmt.Sprint("before", i)) }))
	other := w.create(t, w.user("alan", func(i int) *string { return to(fmt.Sprint("other", i)) }))
	for i, field := range w.added() {
		for _, value := range []*string{to(fmt.Sprint("after", i)), nil, to(""), to("last")} {
			var change models.Values
			if change.SetNull(field); value != nil {
				change.Set(field, *value)
			}
			if i%2 == 1 { // also beside another field
				change.Set(w.fields.Find("name"), fmt.Sprint("name", i))
			}
			w.change(t, &user, change)
		}
	}
	all := models.Values{Fields: w.fields.All(), User: w.user("ada", func(i int) *string { return to(fmt.Sprint("all", i)) })}
	w.change(t, &user, all)
	w.change(t, &user, ValuesOf(w.fields, "email", "countess"))
	w.expect(t, other.ID, other.NewUser)
}

// change changes a user and expects that storage returns it, and has it, with these values changed and no others.
func (w withAdded) change(t *testing.T, user *models.User, change models.Values) {
	t.Helper()
	user.NewUser = With(w.fields, user.NewUser, change)
	if got, err := w.users.Change(ctx, user.ID, change, nil); !Same(got, *user) || err != nil {
		t.Errorf("the change returned %s, %v, want %s", w.fields.AppendUser(nil, &got), err, w.fields.AppendUser(nil, user))
	}
	w.expect(t, user.ID, user.NewUser)
}

func (w withAdded) filters(t *testing.T) {
	for i, value := range []*string{to("x"), to("X"), nil, to(""), to("x"), to("x ")} {
		w.create(t, w.user(fmt.Sprint("user", i+1), func(int) *string { return value }))
	}
	for _, field := range w.added() {
		equal := func(pairs ...string) models.Values { return ValuesOf(w.fields, append(pairs, field.Name, "x")...) }
		for name, test := range map[string]struct {
			query models.Query
			want  []int64
		}{
			"alone":                {models.Query{Equal: equal()}, []int64{1, 5}},
			"an empty text":        {models.Query{Equal: ValuesOf(w.fields, field.Name, "")}, []int64{4}},
			"with an email":        {models.Query{Equal: equal("email", "user5")}, []int64{5}},
			"with another's email": {models.Query{Equal: equal("email", "user2")}, nil},
			"with a search":        {models.Query{Equal: equal(), Contains: "SER1"}, []int64{1}},
			"with all of them":     {models.Query{Equal: equal("email", "user1"), Contains: "r1", Descending: true}, []int64{1}},
			"after an id":          {models.Query{Equal: equal(), After: to[int64](1)}, []int64{5}},
			"the newest first":     {models.Query{Equal: equal(), Descending: true, Limit: 1}, []int64{5}},
		} {
			w.expectSelected(t, field.Name+" "+name, test.query, test.want)
		}
	}
	user := w.user("user1", func(int) *string { return to("x") })
	all := models.Values{Fields: w.fields.All(), User: user}
	w.expectSelected(t, "every field", models.Query{Equal: all}, []int64{1})
}

// expectSelected expects that a query selects users, and that as many are counted regardless of its Limit and After.
func (w withAdded) expectSelected(t *testing.T, name string, query models.Query, want []int64) {
	t.Helper()
	if got := ids(t, w.users, query); !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
	whole := query
	whole.After, whole.Limit = nil, 0
	if n, err := w.users.Count(ctx, query); n != int64(len(ids(t, w.users, whole))) || err != nil {
		t.Errorf("%s: %d are counted, %v", name, n, err)
	}
}

func (w withAdded) searches(t *testing.T) {
	const sought = "50%_'\\OFF"
	for i, field := range w.added() {
		user := models.NewUser{Name: "n", Email: fmt.Sprint(i)}
		field.Set(&user, "before "+sought+" after")
		w.create(t, user)
	}
	w.create(t, models.NewUser{Name: "n", Email: "NULL"})
	var all []int64
	for i := range w.added() {
		all = append(all, int64(i+1))
	}
	w.expectSelected(t, "a part in any case", models.Query{Contains: strings.ToLower(sought)}, all)
	w.expectSelected(t, "what no user has", models.Query{Contains: "50%_'\\\\off"}, nil)
	w.expectSelected(t, "NULL is no text", models.Query{Contains: "null"}, []int64{int64(len(all) + 1)})
}
