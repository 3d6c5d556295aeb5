package database_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"users-api/database"
	"users-api/models"
)

// conditions are of users that a storage has.
type conditions struct {
	*storage
	ignoresCase bool
	users       []models.User
}

// meets says of a user what a condition does.
type meets = func(models.User) bool

// draw returns a condition, which joins others at most as deeply as depth says.
func (c conditions) draw(r *rapid.T, depth int) (models.Condition, meets) {
	forms := []string{"search", "comparison", "comparison", "and", "or", "not"}
	if depth == 0 {
		forms = forms[:3]
	}
	switch form := rapid.SampledFrom(forms).Draw(r, "form"); form {
	case "search":
		text := c.sought(r)
		return models.Search(text), func(user models.User) bool { return contains(c.fields, &user, text) }
	case "comparison":
		return c.comparison(r)
	case "not":
		part, meets := c.draw(r, depth-1)
		return models.Not{Condition: part}, func(user models.User) bool { return !meets(user) }
	default:
		isAnd := form == "and"
		var parts []models.Condition
		var all []meets
		for range rapid.IntRange(0, 3).Draw(r, "parts") {
			part, meets := c.draw(r, depth-1)
			parts, all = append(parts, part), append(all, meets)
		}
		joined := map[bool]models.Condition{true: models.And(parts), false: models.Or(parts)}[isAnd]
		return joined, func(user models.User) bool {
			return isAnd != slices.ContainsFunc(all, func(meets meets) bool { return isAnd != meets(user) })
		}
	}
}

// contains reports whether each word of a text is in a field of a user.
func contains(fields models.Fields, user *models.User, text string) bool {
	words := strings.Fields(text)
	isMissing := func(word string) bool {
		return !slices.ContainsFunc(fields, func(field *models.Field) bool {
			value := field.Value(&user.Profile)
			return value != nil && strings.Contains(models.Fold(*value), models.Fold(word))
		})
	}
	isWord := func(word string) bool { return models.Fold(word) != "" }
	return slices.ContainsFunc(words, isWord) && !slices.ContainsFunc(words, isMissing)
}

// sought returns a text to search for: most are a part of what some user has.
func (c conditions) sought(r *rapid.T) string {
	if len(c.users) == 0 || rapid.Bool().Draw(r, "contains a text") {
		return rapid.SampledFrom([]string{"user1", "A", "\x1f", "abc", "%", "nobody", "NUL", "\x00", "a\x00"}).Draw(r, "contains")
	}
	user := rapid.SampledFrom(c.users).Draw(r, "user")
	value := rapid.SampledFrom(c.fields).Draw(r, "of").Value(&user.Profile)
	if value == nil {
		return "null"
	}
	return c.part(r, *value)
}

// part returns a part of a text, perhaps in capitals.
func (conditions) part(r *rapid.T, text string) string {
	characters := []rune(text)
	from := rapid.IntRange(0, min(len(characters), 100)).Draw(r, "from")
	part := string(characters[from:min(len(characters), from+rapid.IntRange(0, 100).Draw(r, "length"))])
	if rapid.Bool().Draw(r, "in capitals") {
		part = strings.ToUpper(part)
	}
	return part
}

// comparison returns a comparison of any column, often with what a user has there.
func (c conditions) comparison(r *rapid.T) (models.Condition, meets) {
	column := rapid.SampledFrom(append(c.fields.Names(), "id", "created_at")).Draw(r, "column")
	operator := rapid.SampledFrom(operators).Draw(r, "operator")
	text := rapid.OneOf(rapid.SampledFrom([]string{"", "A", "a\x00b"}), rapid.String()).Draw(r, "text")
	switch field := c.fields.Find(column); {
	case column == "created_at":
		since := rapid.SampledFrom([]time.Duration{-time.Hour, 0, time.Hour}).Draw(r, "since")
		text = time.Now().Add(since).UTC().Format(time.DateTime)
		operator = rapid.SampledFrom([]models.Operator{models.Less, models.AtLeast, models.HasValue}).Draw(r, "operator")
	case column == "id":
		text = strconv.FormatInt(rapid.Int64Range(-2100, 50).Draw(r, "id"), 10)
	case len(c.users) > 0 && rapid.Bool().Draw(r, "of a user"):
		user := rapid.SampledFrom(c.users).Draw(r, "user")
		text = c.part(r, *cmp.Or(field.Value(&user.Profile), new(string)))
	}
	condition, ok := c.fields.Compare(column, operator, text)
	if !ok {
		r.Fatalf("%s does not compare with %q by %s", column, text, operator)
	}
	return condition, func(user models.User) bool { return c.compares(&user, column, operator, text) }
}

var operators = []models.Operator{models.Equal, models.NotEqual, models.Contains, models.StartsWith, models.EndsWith, models.Greater,
	models.AtLeast, models.Less, models.AtMost, models.HasValue}

// compares reports whether what a user has in a column compares with a text.
func (c conditions) compares(user *models.User, column string, operator models.Operator, text string) bool {
	value, order := "", 0
	switch column {
	case "id":
		id, _ := strconv.ParseInt(text, 10, 64)
		value, order = strconv.FormatInt(user.ID, 10), cmp.Compare(user.ID, id)
	case "created_at":
		value, order = user.CreatedAt, strings.Compare(user.CreatedAt, text)
	default:
		field := c.fields.Find(column)
		value = *cmp.Or(field.Value(&user.Profile), new(string))
		if field.Unique && c.ignoresCase {
			value, text = models.LowerASCII(value), models.LowerASCII(text)
		}
		order = strings.Compare(value, text)
	}
	switch operator {
	case models.Equal:
		return value == text
	case models.NotEqual:
		return value != text
	case models.Contains:
		return strings.Contains(value, text)
	case models.StartsWith:
		return strings.HasPrefix(value, text)
	case models.EndsWith:
		return strings.HasSuffix(value, text)
	case models.Greater:
		return value != "" && order > 0
	case models.AtLeast:
		return value != "" && order >= 0
	case models.Less:
		return value != "" && order < 0
	case models.AtMost:
		return value != "" && order <= 0
	}
	return value != ""
}

// expect compares whom a condition selects with what is said of each user.
func (c conditions) expect(t rapid.TB, what string, condition models.Condition, meets meets) {
	t.Helper()
	var want, others, got, rest []int64
	for _, user := range c.users {
		if meets(user) {
			want = append(want, user.ID)
		} else {
			others = append(others, user.ID)
		}
	}
	for _, user := range selected(t, c.Users, models.Query{Where: models.And{condition}}) {
		got = append(got, user.ID)
	}
	for _, user := range selected(t, c.Users, models.Query{Where: models.And{models.Not{Condition: condition}}}) {
		rest = append(rest, user.ID)
	}
	if !slices.Equal(got, want) || !slices.Equal(rest, others) {
		t.Errorf("%s selects %v and the others %v, want %v and %v", what, got, rest, want, others)
	}
}

// fill creates users with every odd value in a field of its own.
func (c *conditions) fill(t *testing.T) {
	t.Helper()
	for i, value := range oddValues {
		if c.noNUL && strings.Contains(value, "\x00") {
			continue
		}
		user := values(c.fields, "name", cmp.Or(value, "n"), "email", fmt.Sprint(value, i%2), "pager", value)
		if value == "" {
			user.SetNull(c.fields.Find("pager"))
		}
		if _, err := c.Create(ctx, user.User); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Create(ctx, values(c.fields, "name", "n", "email", "empty", "pager", "").User); err != nil {
		t.Fatal(err)
	}
	c.users = selected(t, c.Users, models.Query{})
}

// oddValues are in an order that no collation of letters has.
var oddValues = []string{"", "B", "a", "A2", "ab", "é", "É", "Z", "z", "a\x00b", "\U0001F600", "\uffff", "%", "_", "a%", `\`, "'", "10", "9",
	"Ada", "da", "d", "ADA"}

func TestAComparisonSelectsWhomAPlainModelSelects(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		for _, ignoresCase := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, which ignores the case of emails: %t", d.name, ignoresCase), func(t *testing.T) {
				t.Parallel()
				c := conditions{d.open(t, models.NewFields("pager")), ignoresCase, nil}
				if ignoresCase {
					c.reopen(t, database.Location.IgnoreEmailCase)
				}
				c.fill(t)
				texts := map[string][]string{
					"name": oddValues, "email": append(slices.Clip(oddValues), "ada1", "a0"), "pager": oddValues,
					"id":         {"1", "2", "12", "-1", "1000", "02", "+1"},
					"created_at": {"2020-01-02 03:04:05", "2100-01-01 00:00:00", c.users[0].CreatedAt},
				}
				for _, column := range c.fields.Columns() {
					for _, operator := range operators {
						for _, text := range texts[column] {
							condition, ok := c.fields.Compare(column, operator, text)
							what := fmt.Sprintf("%s %s %q", column, operator, text)
							isPart := operator == models.Contains || operator == models.StartsWith || operator == models.EndsWith
							if ok == (column == "created_at" && isPart) {
								t.Errorf("%s: %t", what, ok)
							}
							if ok {
								c.expect(t, what, condition, func(user models.User) bool { return c.compares(&user, column, operator, text) })
							}
						}
					}
				}
			})
		}
	}
}

func uniquePagers(d database.Location, ctx context.Context) error {
	return d.AddUniqueField(ctx, "pager")
}

func TestAConditionSelectsWhomAPlainModelSelects(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		for name, commands := range map[string][]command{
			"": nil, " with an index of searches": {database.Location.IndexSearch},
			" without the case of emails": {database.Location.IgnoreEmailCase}, " with unique pagers": {uniquePagers},
		} {
			t.Run(d.name+name, func(t *testing.T) {
				t.Parallel()
				c := conditions{d.open(t, models.NewFields("pager"), commands...), strings.Contains(name, "case"), nil}
				c.fill(t)
				rapid.Check(t, func(r *rapid.T) {
					for range 20 {
						condition, meets := c.draw(r, 4)
						c.expect(r, fmt.Sprintf("%+v", condition), condition, meets)
					}
				})
			})
		}
	}
}

func TestWhatIsNoValueOfAColumnIsNotCompared(t *testing.T) {
	t.Parallel()
	fields := models.NewFields("pager")
	for _, test := range []struct {
		column   string
		operator models.Operator
		text     string
	}{
		{"fax", models.Equal, "1"}, {"", models.Equal, "1"}, {"fax", models.HasValue, ""}, {"fax", models.Contains, ""}, {"ID", models.Equal, "1"},
		{"id", models.Greater, ""}, {"id", models.AtMost, "a"}, {"id", models.Less, "1.5"}, {"id", models.AtLeast, "9223372036854775808"},
		{"created_at", models.Equal, ""}, {"created_at", models.Less, "yesterday"}, {"created_at", models.Less, "2026-02-31"},
		{"created_at", models.Contains, "2026-02-01"}, {"created_at", models.StartsWith, ""},
	} {
		if _, ok := fields.Compare(test.column, test.operator, test.text); ok {
			t.Errorf("%+v is a comparison", test)
		}
	}
}

// A condition that was forgotten must never select all users.
func TestAQueryWithoutAConditionSelectsNobody(t *testing.T) {
	t.Parallel()
	s := sqlite.open(t, plain())
	s.create(t, "ada")
	unknown := map[string]models.Condition{}
	for _, column := range []string{"id", "name", "created_at"} {
		unknown[column], _ = s.fields.Compare(column, "xx", map[string]string{"id": "1", "created_at": "2026-01-01"}[column])
	}
	for name, where := range map[string]models.Condition{
		"an operator that SQL does not know, for ids": unknown["id"], "for texts": unknown["name"], "for times": unknown["created_at"],
		"none": nil, "none among others": models.And{models.Search("a"), nil}, "not none": models.Not{}, "one of none": models.Or{nil},
		"a comparison that nobody made": models.Comparison{}, "one under others": models.Or{models.Comparison{}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s selects users", name)
				}
			}()
			_, _ = s.Count(ctx, models.Query{Where: models.And{where}})
		}()
	}
}

// Another program's columns may ignore the case, and its times have other forms.
func TestWhatAnotherProgramStoresIsComparedAsItIsShown(t *testing.T) {
	t.Parallel()
	s, other := openTable(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, email TEXT, created_at)")
	for _, created := range []string{"NULL", "'2026-01-02 03:04:05'", "'2026-01-02T03:04:06Z'", "'2026-01-02T03:04:05.9+02'", "'2026-01-02'", "'then'",
		"x'32303236'", "1767322000"} {
		run(t, other, "INSERT INTO users (name, email, created_at) VALUES ('Ada', NULL, "+created+")")
	}
	c := conditions{s, false, selected(t, s.Users, models.Query{})}
	for _, user := range c.users {
		for _, operator := range []models.Operator{models.Equal, models.Greater, models.AtLeast, models.Less, models.AtMost, models.HasValue} {
			text := cmp.Or(user.CreatedAt, "2026-01-02 03:04:05")
			condition, ok := s.fields.Compare("created_at", operator, text)
			if ok {
				c.expect(t, fmt.Sprintf("created_at %s %s", operator, text), condition,
					func(user models.User) bool { return c.compares(&user, "created_at", operator, text) })
			}
		}
	}
	for _, text := range []string{"Ada", "ADA", ""} {
		for _, column := range []string{"name", "email"} {
			condition, _ := s.fields.Compare(column, models.Equal, text)
			c.expect(t, column+" is "+text, condition, func(user models.User) bool { return c.compares(&user, column, models.Equal, text) })
		}
	}
	for text, ids := range map[string]int{
		"2026-01-02T03:04:05Z": 1, "2026-01-02T04:04:05+01:00": 1, "2026-01-02T03:04:05.5Z": 1, "2026-01-02": 1, "2026-01-02 03:04:06": 1,
	} {
		condition, ok := s.fields.Compare("created_at", models.Equal, text)
		if found := selected(t, s.Users, models.Query{Where: models.And{condition}}); len(found) != ids || !ok {
			t.Errorf("at %s were created %v", text, found)
		}
	}
}
