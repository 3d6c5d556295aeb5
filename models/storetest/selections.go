package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/models"

	"pgregory.net/rapid"
)

// ids returns the ids of the users that a query asks for. If it asks for a page, the one from memory must be the same.
func ids(t testing.TB, users models.Users, query models.Query) (ids []int64) {
	t.Helper()
	for user, err := range models.Each(users.Select(ctx, query)) {
		if err != nil {
			t.Fatalf("%+v: %v", query, err)
		}
		ids = append(ids, user.ID)
	}
	if query.IsPage() {
		expectPage(t, users, query)
	}
	return ids
}

// to returns a pointer to a value.
func to[T any](value T) *T { return &value }

// What is asked for of nine users, and who comes.
var selected = []struct {
	name  string
	query models.Query
	want  []int64
}{
	{"everybody", models.Query{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	{"everybody, the newest first", models.Query{Descending: true}, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1}},
	{"an email", models.Query{Equal: Values("email", "3@Example.org")}, []int64{3}},
	{"an email in another case", models.Query{Equal: Values("email", "3@example.org")}, nil},
	{"an email with more behind it", models.Query{Equal: Values("email", "3@Example.org ")}, nil},
	{"an empty email", models.Query{Equal: Values("email", "")}, nil},
	{"a part of a name in any case", models.Query{Contains: "aDA"}, []int64{1}},
	{"a part of an email in any case", models.Query{Contains: "4@EXAMPLE"}, []int64{4}},
	{"a letter beyond ASCII in its case", models.Query{Contains: "É"}, []int64{3}},
	{"a letter beyond ASCII in the other case", models.Query{Contains: "é"}, nil},
	{"a percent sign", models.Query{Contains: "0%"}, []int64{4}},
	{"an underscore", models.Query{Contains: "a_b"}, []int64{5}},
	{"a backslash", models.Query{Contains: `k\s`}, []int64{6}},
	{"a quote", models.Query{Contains: "'q"}, []int64{9}},
	{"the engine's separator", models.Query{Contains: "e\x1ff"}, []int64{7}},
	{"a NUL", models.Query{Contains: "l\x00A"}, []int64{8}},
	{"what stands after a NUL", models.Query{Contains: "AFTER"}, []int64{8}},
	{"what no user has", models.Query{Contains: "nobody"}, nil},
	{"a part and an email", models.Query{Contains: "ada", Equal: Values("email", "1@Example.org")}, []int64{1}},
	{"a part and another's email", models.Query{Contains: "ada", Equal: Values("email", "2@Example.org")}, nil},
	{"those after an id", models.Query{After: to[int64](2), Limit: 3}, []int64{3, 4, 5}},
	{"those after an id, the newest first", models.Query{After: to[int64](2), Descending: true}, []int64{1}},
	{"a part, after an id", models.Query{Contains: "a", After: to[int64](2), Limit: 2}, []int64{3, 4}},
}

// selections asks for users among nine whose names are hard to search.
func selections(t *testing.T, users models.Users, traits Traits) {
	for i, name := range []string{"Ada", "ALAN", "É", "100%", "a_b", `back\slash`, "be\x1ffore", withNUL, "'quoted'"} {
		user := models.NewUser{Name: name, Email: fmt.Sprintf("%d@Example.org", i+1)}
		if name == withNUL && traits.NoNUL {
			expectNULRefused(t, users, user)
			user.Name = "no nul after"
		}
		if _, err := users.Create(ctx, user); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range selected {
		if traits.NoNUL && strings.Contains(test.query.Contains, "\x00") {
			test.want = nil
		}
		t.Run(test.name, func(t *testing.T) {
			if got := ids(t, users, test.query); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			whole := test.query
			whole.After, whole.Limit = nil, 0
			if n, err := users.Count(ctx, test.query); n != int64(len(ids(t, users, whole))) || err != nil {
				t.Errorf("%d are counted, %v", n, err)
			}
		})
	}
}

const withNUL = "nul\x00after"

// expectNULRefused expects the engine's own refusal of a user, which leaves no trace.
func expectNULRefused(t *testing.T, users models.Users, user models.NewUser) {
	t.Helper()
	_, err := users.Create(ctx, user)
	if failed, ok := errors.AsType[*models.StorageError](err); !ok || failed.Code == "" || failed.Duplicate {
		t.Errorf("a NUL is refused with %#v", err)
	}
	query := models.Query{Equal: Values("email", user.Email)}
	if n, err := users.Count(ctx, query); n != 0 || err != nil {
		t.Errorf("%d users are there, %v", n, err)
	}
}

// pages creates users of which some have names so long that a page of many would be large, and walks through them.
func pages(t *testing.T, users models.Users) {
	OneGoroutine(t)
	const n = 40
	for i := range n {
		user := models.NewUser{Name: strings.Repeat("n", i%4*50_000+1), Email: fmt.Sprint(i)}
		if _, err := users.Create(ctx, user); err != nil {
			t.Fatal(err)
		}
	}
	everybody := ids(t, users, models.Query{})
	if len(everybody) != n || !slices.IsSorted(everybody) {
		t.Fatalf("everybody is %v", everybody)
	}
	for _, descending := range []bool{false, true} {
		if descending {
			slices.Reverse(everybody)
		}
		for _, limit := range []int{1, 7, 39, 40, 41} {
			query := models.Query{Limit: limit, Descending: descending}
			var walked []int64
			for page := ids(t, users, query); len(page) > 0; page = ids(t, users, query) {
				walked = append(walked, page...)
				if len(page) > limit || len(page) < limit && len(walked) < n {
					t.Errorf("a page of %d has %d users", limit, len(page))
				}
				query.After = &walked[len(walked)-1]
			}
			if !slices.Equal(walked, everybody) {
				t.Errorf("by %d, descending %t: %v", limit, descending, walked)
			}
		}
	}
}

func (m *Machine) selectSome(r *rapid.T) {
	query := models.Query{
		Contains:   m.contained(r),
		Limit:      rapid.IntRange(0, 10).Draw(r, "limit"),
		Descending: rapid.Bool().Draw(r, "descending"),
	}
	if len(m.model) > 0 && rapid.Bool().Draw(r, "by a value") {
		user, field := m.Any(r), rapid.SampledFrom(m.fields).Draw(r, "field")
		if text := field.Value(&user.NewUser); text != nil {
			query.Equal.Set(field, *text)
		}
	}
	if rapid.Bool().Draw(r, "by email") {
		query.Equal.Set(m.fields.Find("email"), emails(r))
	}
	users := m.sorted()
	if query.Descending {
		slices.Reverse(users)
	}
	if rapid.Bool().Draw(r, "after") && len(users) > 0 {
		at := rapid.IntRange(0, len(users)-1).Draw(r, "at")
		query.After, users = &users[at].ID, users[at+1:]
	}
	for got, err := range models.Each(m.Users.Select(ctx, query)) {
		for len(users) > 0 && !m.matches(&users[0], query) {
			users = users[1:]
		}
		if err != nil || len(users) == 0 || !Same(got, users[0]) {
			r.Fatalf("%+v: got %.200v, %v", query, got, err)
		}
		users = users[1:]
		query.Limit--
	}
	if query.Limit > 0 && slices.ContainsFunc(users, func(u models.User) bool { return m.matches(&u, query) }) {
		r.Fatalf("%+v: users are missing", query)
	}
}

// contained returns a text to search for: most are a part of what some user has.
func (m *Machine) contained(r *rapid.T) string {
	if len(m.model) == 0 || rapid.Bool().Draw(r, "contains a text") {
		return rapid.SampledFrom([]string{"", "user1", "A", "\x1f", "nobody"}).Draw(r, "contains")
	}
	user := m.Any(r)
	text := []rune(rapid.SampledFrom([]string{user.Name, user.Email}).Draw(r, "of"))
	from := rapid.IntRange(0, min(len(text), 100)).Draw(r, "from")
	part := string(text[from:min(len(text), from+rapid.IntRange(0, 100).Draw(r, "length"))])
	if rapid.Bool().Draw(r, "in capitals") {
		part = strings.ToUpper(part)
	}
	return part
}

// matches reports whether a query selects a user, but for its Limit and After.
func (m *Machine) matches(user *models.User, query models.Query) bool {
	email := m.fields.Find("email")
	if query.Equal.Fields.Has(email) && m.traits.same(user.Email) != m.traits.same(query.Equal.User.Email) {
		return false
	}
	query.Equal.Fields = query.Equal.Fields.Without(email)
	return m.fields.Differing(&query.Equal, &user.NewUser) == 0 && m.contains(&user.NewUser, query.Contains)
}

// contains reports whether a field contains a text, without regard to the case of ASCII letters.
func (m *Machine) contains(user *models.NewUser, text string) bool {
	return slices.ContainsFunc(m.fields, func(field *models.Field) bool {
		value := field.Value(user)
		return value != nil && strings.Contains(models.LowerASCII(*value), models.LowerASCII(text))
	})
}
