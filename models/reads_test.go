package models_test

import (
	"fmt"
	"strings"
	"testing"

	"users-api/models"
)

func TestReads(t *testing.T) {
	onEach(t, []test{
		{"a page and a user by email come from memory once a list was read", fromMemory},
		{"a page has a bounded size, whichever texts are long", pageSizes},
	}, plain())
}

// cachedPage returns the page of a query from memory, or nil if it is not there although the list was just read. On
// PostgreSQL anything that is committed in another database of the server can be the reason.
func (s *storage) cachedPage(t testing.TB, query models.Query) (page *models.Page) {
	t.Helper()
	for tries := 0; page == nil && (tries == 0 || tries < 50 && s.delayed); tries++ {
		s.list(t)
		var err error
		if page, err = s.Page(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	return page
}

func fromMemory(t *testing.T, s *storage) {
	id := s.create(t, "ada")
	for _, email := range []string{"ada", "changed"} {
		if _, err := s.Change(ctx, id, values(s.fields, "email", email), nil); err != nil {
			t.Fatal(err)
		}
		for _, query := range []models.Query{{Limit: 2}, {Limit: 1, Equal: values(s.fields, "email", email)}} {
			if page := s.cachedPage(t, query); page == nil || page.Users != 1 {
				t.Errorf("%+v: in memory is %v", query, page)
			}
		}
	}
}

// A limit that counted names alone would let a page of long emails take all memory.
func pageSizes(t *testing.T, s *storage) {
	const n, most = 24, 256 << 10
	long := strings.Repeat("x", 30_000)
	for what, name := range map[string]string{"names": long, "emails": ""} {
		var rows []models.Values
		for i := range n {
			rows = append(rows, values(s.fields, "name", name, "email", fmt.Sprint(i, long[len(name):])))
		}
		if _, err := s.Import(ctx, lines(rows), becomes(n)); err != nil {
			t.Fatal(err)
		}
		s.list(t)
		if page, err := s.Page(ctx, models.Query{Limit: n}); page != nil || err != nil {
			t.Errorf("a page with long %s comes from memory: %v", what, err)
		}
		found := 0
		for page, err := range s.Select(ctx, models.Query{}) {
			bytes := 0
			for _, user := range page {
				bytes += s.fields.Bytes(&user.NewUser)
			}
			if found += len(page); bytes > most || err != nil {
				t.Errorf("a page of %d users with long %s has %d bytes, %v", len(page), what, bytes, err)
			}
		}
		if found != n {
			t.Errorf("%d users with long %s are on the pages, want %d", found, what, n)
		}
	}
}
