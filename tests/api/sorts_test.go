package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestASortedListIsReadPageByPageWhileUsersComeAndGo(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"asc", "desc"} {
		t.Run(order, func(t *testing.T) {
			p := program.Serve(t)
			names := []string{"ada", "Ada", "Bea", "Łukasz", "Émile", "Zoe", "zoe", "emile", "😀"}
			var want []int64
			for i, name := range names {
				want = append(want, p.Create(t, name, fmt.Sprint(i)))
			}
			want = []int64{want[0], want[1], want[2], want[4], want[7], want[3], want[5], want[6], want[8]}
			first, last := "!", "🙂"
			if order == "desc" {
				slices.Reverse(want)
				first, last = last, first
			}
			var got []int64
			next := "?sort=name&limit=2&order=" + order
			for page := 0; next != ""; page++ {
				answer := p.Do(t, "GET", "/api/users"+next, "")
				for _, user := range answer.Users(t) {
					got = append(got, user.ID)
				}
				next, _, _ = strings.Cut(strings.TrimPrefix(answer.Header.Get("Link"), "<"), ">")
				switch border := got[len(got)-1]; page { // the user behind whom the next page begins
				case 0:
					p.Delete(t, border)
				case 1:
					p.Change(t, border, `{"name":"`+last+`"}`)
					want = append(want, border) // comes again: it is another user to whoever reads on
				case 2:
					p.Create(t, first, "before")
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got the users %v, want %v", got, want)
			}
		})
	}
}

func TestASortThatCannotBeReadPageByPageIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	p.Create(t, "Bob", "bob")
	place := func(query string) string {
		_, after, _ := strings.Cut(p.Do(t, "GET", "/api/users?"+query, "").Header.Get("Link"), "after=")
		return "&after=" + strings.TrimSuffix(after, `>; rel="next"`)
	}
	byName := place("sort=name&limit=1")
	const limit = "The parameter sort must come with limit: users are sorted page by page"
	misplaced := func(sort string) string {
		return "The parameter after must be what the Link of a page with sort=" + sort + " says"
	}
	for query, want := range map[string]string{
		"sort=name": limit, "sort=id": limit, "sort=name&order=desc&q=a": limit,
		"sort=name&limit=1&after=1":        misplaced("name"),
		"sort=name&limit=1" + byName + "!": misplaced("name"),
		"sort=email&limit=1" + byName:      misplaced("email"),
		"limit=1" + byName:                 "The parameter after must be the id of a user",
	} {
		for _, path := range []string{"/api/users", "/api/users.csv", "/api/users.ndjson"} {
			answer := p.Do(t, "GET", path+"?"+query, "")
			if answer.Status != 400 || answer.Body != program.ErrorBody(want) {
				t.Errorf("%s?%s is answered %d %s, want 400 %s", path, query, answer.Status, answer.Body, want)
			}
		}
	}
	if answer := p.Do(t, "GET", "/api/users?sort=name&limit=1&order=desc"+place("sort=name&limit=1"), ""); answer.Body != "[]" {
		t.Errorf("a place fits both orders, and nobody comes before the first: %s", answer.Body)
	}
}
