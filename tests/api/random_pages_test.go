package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/tests/program"
)

// oddTexts are equal in some order, or have characters that an order, a search or a pattern treats in its own way.
var oddTexts = []string{"Ada", "ADA", "ada \u0301", "ÄDA", "%", "a_", `\`, `"<&>`, "'", "\x1f", "\u2028x", "ad\U0001F600", "ad\uffff", "Σς", "か\u3099",
	"straße", strings.Repeat("é", 200), strings.Repeat("é", 200) + "A", strings.Repeat("é", 199) + "a", strings.Repeat("long ", 300)}

// oddLetters change, join or move when a text is folded.
var oddLetters = []rune("aAbc Σςか학하\u3099\u0654\u0653\u0627\u09c7\u09be\u0bc6\u0e01\u0e49\u0e39еёαάİIıßæłŁé\u0301\u0308\u1112\u1161\u11ab\u2126\uff21Ⓐ")

// listed is a user with a room.
type listed struct {
	ID          int64
	Name, Email string
	Room        *string
}

func (l listed) value(field string) string {
	return map[string]string{"name": l.Name, "email": l.Email, "room": *cmp.Or(l.Room, new(string))}[field]
}

// pagesOf are pages that are asked for at random.
type pagesOf struct {
	*rand.Rand
	ignoresCase bool
	users       []listed
}

// text returns what a user may have in a field.
func (p pagesOf) text() string {
	if p.IntN(2) == 0 {
		return oddTexts[p.IntN(len(oddTexts))]
	}
	letters := make([]rune, 1+p.IntN(10))
	for i := range letters {
		letters[i] = oddLetters[p.IntN(len(oddLetters))]
	}
	return string(letters)
}

// same is what two values of a field have in common that are equal.
func (p pagesOf) same(field, value string) string {
	if field == "email" && p.ignoresCase {
		return models.LowerASCII(value)
	}
	return value
}

// filter adds a filter to what is asked for, and says who meets it.
func (p pagesOf) filter(asked url.Values) (meets func(listed) bool) {
	field, value := []string{"name", "email", "room"}[p.IntN(3)], p.text()
	if p.IntN(3) > 0 {
		value = p.users[p.IntN(len(p.users))].value(field)
	}
	if characters := []rune(value); p.IntN(2) == 0 && len(characters) > 0 {
		from := p.IntN(len(characters))
		value = string(characters[from : from+1+p.IntN(min(50, len(characters)-from))])
		words := strings.Fields(models.Fold(value))
		if strings.TrimSpace(value) != "" && !asked.Has("q") {
			asked.Set("q", value)
			return func(user listed) bool {
				isMissing := func(word string) bool {
					return !strings.Contains(models.Fold(user.Name+" "+user.Email+" "+user.value("room")), word)
				}
				return len(words) > 0 && !slices.ContainsFunc(words, isMissing)
			}
		}
	}
	not := []string{"", "!"}[p.IntN(2)]
	if asked.Has(field + not) {
		return func(listed) bool { return true }
	}
	asked[field+not] = []string{value, "another"}
	return func(user listed) bool {
		return (p.same(field, user.value(field)) == p.same(field, value)) == (not == "")
	}
}

// key is what a sort compares: folded, and at most 200 characters.
func (l listed) key(sort string) string {
	characters := []rune(models.Fold(l.value(sort)))
	return string(characters[:min(len(characters), 200)])
}

// Whoever comes, changes and goes: pages have whom a plain model of the list has, in its order.
func TestPagesHaveWhomAPlainModelHas(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"--version", "index-search", "ignore-email-case", "add-field --unique room"} {
		t.Run("after "+command, func(t *testing.T) {
			t.Parallel()
			seed, p := rand.Uint64(), program.Serve(t, "USER_FIELDS=room")
			t.Logf("the seed is %d", seed)
			settings := append(program.EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir, "USER_FIELDS=room")
			program.RunWith(t, settings, nil, strings.Fields(command)...).MustSucceed(t) // an index has the fields of the setting
			p = program.Serve(t, settings...)
			pages := pagesOf{rand.New(rand.NewPCG(seed, 0)), command == "ignore-email-case", nil}
			for round := range program.Times(40, 1000) {
				room := func(of string) string { // of one user at most where it is unique
					return pages.text() + map[bool]string{true: fmt.Sprint(of, round)}[strings.Contains(command, "unique")]
				}
				for i := range 3 {
					body, _ := json.Marshal(map[string]any{"name": pages.text(), "email": fmt.Sprint(pages.text(), round, "-", i), "room": []any{nil, "", room("new")}[i]})
					p.Do(t, "POST", "/api/users", string(body)).Expect(t, 201, "…")
				}
				if n := len(pages.users); n > 1 {
					body, _ := json.Marshal(map[string]string{"name": pages.text(), "room": room("changed")})
					p.Change(t, pages.users[pages.IntN(n-1)].ID, string(body))
					p.Delete(t, pages.users[n-1].ID)
				}
				program.Must(t, json.Unmarshal([]byte(p.Do(t, "GET", "/api/users", "").Body), &pages.users))
				pages.expectWalk(t, p)
			}
		})
	}
}

// expectWalk reads all pages of a random query.
func (p pagesOf) expectWalk(t *testing.T, from *program.Program) {
	t.Helper()
	asked, want, got := url.Values{}, slices.Clone(p.users), []int64{}
	for range p.IntN(3) {
		meets := p.filter(asked)
		want = slices.DeleteFunc(want, func(user listed) bool { return !meets(user) })
	}
	sort, limit := []string{"", "id", "name", "email", "room"}[p.IntN(5)], 1+p.IntN(30)
	if sort != "" {
		asked.Set("sort", sort)
	}
	slices.SortFunc(want, func(a, b listed) int {
		return cmp.Or(strings.Compare(a.key(sort), b.key(sort)), cmp.Compare(a.ID, b.ID))
	})
	if p.IntN(2) == 0 {
		asked.Set("order", "desc")
		slices.Reverse(want)
	}
	asked.Set("limit", fmt.Sprint(limit))
	asked.Set("count", "true")
	ids := []int64{}
	for _, user := range want {
		ids = append(ids, user.ID)
	}
	for next := "?" + asked.Encode(); next != ""; {
		page := from.Do(t, "GET", "/api/users"+next, "")
		program.ExpectHeader(t, page, "X-Total-Count", fmt.Sprint(len(ids)))
		program.Expect(t, "how many users a page has", len(page.Users(t)), min(limit, len(ids)-len(got)))
		for _, user := range page.Users(t) {
			got = append(got, user.ID)
		}
		next = page.Next()
	}
	if !slices.Equal(got, ids) {
		t.Fatalf("%s finds %v, want %v of %.2000s", asked.Encode(), got, ids, fmt.Sprint(p.users))
	}
}
