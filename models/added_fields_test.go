package models_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// addedNames are names of fields that a setting may add: keywords, names that statements use, and the longest that there
// may be.
var addedNames = []string{"group", "select", "from", "ordinality", "n", "u", "users", "rowid", "oid", "values", "set",
	"where", "table", "user", "default", "null", "text", "unnest", "returning", "excluded", "old", "new", "collate",
	"updated_at", "deleted_at", "ids", "emails", "i", "l", "c", "column1", "a_name_of_40_characters_which_is_the_most"}

const withNUL = "nul\x00after"

// withAdded returns a table of fields with n that a setting adds, at most [models.MostAdded].
func withAdded(n int) models.Fields { return models.NewFields(addedNames[:n]...) }

func TestOneAddedField(t *testing.T) { onEach(t, addedTests, withAdded(1)) }

func TestAsManyAddedFieldsAsThereMayBe(t *testing.T) {
	onEach(t, addedTests, withAdded(models.MostAdded))
}

var addedTests = []test{
	{"a value is read as it was stored, whatever it is", addedValues},
	{"a filter finds the users who have a value, or none", addedFilters},
	{"rows of a file may have different fields", differentRows},
}

// added returns the fields that the setting adds.
func (s *storage) added() models.Fields {
	return slices.DeleteFunc(slices.Clone(s.fields), func(field *models.Field) bool { return !field.Added })
}

// user returns a user whose added fields have a value, or NULL without one.
func (s *storage) user(email string, value func(i int) *string) models.NewUser {
	user := models.NewUser{Name: "n", Email: email}
	for i, field := range s.added() {
		if text := value(i); text != nil {
			field.Set(&user, *text)
		}
	}
	return user
}

// store creates a user and returns it as it is stored.
func (s *storage) store(t *testing.T, user models.NewUser) models.User {
	t.Helper()
	id, err := s.Create(ctx, user)
	if err != nil {
		t.Fatalf("creating %s: %v", user.Email, err)
	}
	return s.expectUser(t, id, user)
}

func (s *storage) expectUser(t *testing.T, id int64, want models.NewUser) models.User {
	t.Helper()
	got, err := s.Get(ctx, id)
	if err != nil || got.ID != id || !s.sameValues(got.NewUser, want) {
		t.Errorf("%d is %.300s, %v, want %.300s", id, s.fields.AppendUser(nil, &got), err, s.fields.AppendCreated(nil, id, &want))
	}
	return got
}

// addedValues stores odd values, each in every field beside all others. What is read together stays together: a user that
// was read earlier must not get the values of a later one.
func addedValues(t *testing.T, s *storage) {
	odd := []*string{nil, new(""), new("x"), new(" "), new("NULL"), new("null"), new(`{NULL,"x"}`), new("'quoted'"), new(`"double"`),
		new("`tick`"), new(`back\slash`), new("lines\r\nand\ttabs"), new("be\x1ffore"), new("ä\u2028ß"), new("?"), new("@name"),
		new("$1"), new("-1"), new("1e3"), new(withNUL)}
	if s.noNUL {
		if _, err := s.Create(ctx, s.user("nul", func(int) *string { return new(withNUL) })); refusal(err) == nil {
			t.Errorf("a NUL is refused with %v", err)
		}
		odd = odd[:len(odd)-1]
	}
	var want []models.User
	for at := range odd {
		want = append(want, s.store(t, s.user(fmt.Sprint(at), func(i int) *string { return odd[(at+i)%len(odd)] })))
	}
	long := models.NewUser{Name: "n", Email: "long"}
	s.fields[len(s.fields)-1].Set(&long, strings.Repeat("long", 1<<18)) // 1 MiB
	want = append(want, s.store(t, long))
	var shown []string
	for _, user := range want {
		shown = append(shown, string(s.fields.AppendUser(nil, &user)))
	}
	if got, _ := s.list(t); got != "["+strings.Join(shown, ",")+"]" {
		t.Errorf("the list is\n%.3000s\nwant\n%.3000s", got, shown)
	}
	_, users, err := exported(s.Users, models.Query{})
	if !slices.EqualFunc(users, want, s.same) || !slices.EqualFunc(s.selected(t, models.Query{}), want, s.same) || err != nil {
		t.Errorf("pages or an export have other users, %v", err)
	}
}

func addedFilters(t *testing.T, s *storage) {
	for i, value := range []*string{new("x"), new("X"), nil, new(""), new("x"), new("x ")} {
		s.store(t, s.user(fmt.Sprint("user", i+1), func(int) *string { return value }))
	}
	for _, field := range s.added() {
		equal := func(pairs ...string) models.Values { return values(s.fields, append(pairs, field.Name, "x")...) }
		var none models.Values
		none.SetNull(field)
		for name, test := range map[string]struct {
			query models.Query
			want  []int64
		}{
			"alone":                       {models.Query{Equal: equal()}, []int64{1, 5}},
			"an empty value":              {models.Query{Equal: none}, []int64{3, 4}},
			"an empty value and a search": {models.Query{Equal: none, Contains: "ser4"}, []int64{4}},
			"an email":                    {models.Query{Equal: equal("email", "user5")}, []int64{5}},
			"another's email":             {models.Query{Equal: equal("email", "user2")}, nil},
			"a search":                    {models.Query{Equal: equal(), Contains: "SER1"}, []int64{1}},
			"all of them":                 {models.Query{Equal: equal("email", "user1"), Contains: "r1", Descending: true}, []int64{1}},
			"after an id":                 {models.Query{Equal: equal(), After: new(int64(1))}, []int64{5}},
			"the newest first":            {models.Query{Equal: equal(), Descending: true, Limit: 1}, []int64{5}},
		} {
			if got := s.ids(t, test.query); !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: got %v, want %v", field.Name, name, got, test.want)
			}
			s.expectCounted(t, field.Name+", "+name, test.query)
		}
	}
}

// differentRows imports users that each have other fields: as new ones, then again with other values for other fields, and
// some of them twice.
func differentRows(t *testing.T, s *storage) {
	const n = 300
	want := map[string]models.NewUser{}
	for _, value := range []string{"first", "second!"} {
		done := models.Imported{Created: n - 20, Updated: 20}
		if value != "first" {
			done = models.Imported{Updated: n}
		}
		var rows []models.Values
		for i := range n {
			row := values(s.fields, "name", fmt.Sprint(value, i), "email", fmt.Sprint(i%(n-20)))
			for at, field := range s.added() {
				if (i+at+len(value))%3 > 0 {
					row.Set(field, fmt.Sprint(value, i, field.Name))
				}
			}
			want[row.User.Email] = with(s.fields, want[row.User.Email], row)
			rows = append(rows, row)
		}
		if got, err := s.Import(ctx, lines(rows), models.ImportOptions{OnConflict: updates}); !reflect.DeepEqual(got, done) || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", value, got, err, done)
		}
		stored := s.selected(t, models.Query{})
		for _, user := range stored {
			if !s.sameValues(user.NewUser, want[user.Email]) {
				t.Fatalf("%s: %s is stored", value, s.fields.AppendUser(nil, &user))
			}
		}
		if len(stored) != len(want) {
			t.Errorf("%s: %d users are stored, want %d", value, len(stored), len(want))
		}
	}
}
