package routes

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestPagesHaveEverybodyOnceInOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 23 {
		s.create(t, []string{"Ada", "Ben & Co"}[i%2], fmt.Sprintf("%d@example.org", i))
	}
	for _, query := range []string{
		"", "order=desc&", "q=%26+c&", "q=%26+c&order=desc&", "after=5&q=ada&", "email=7%40example.org&",
	} {
		want := s.do(t, "GET", "/api/users?"+strings.TrimSuffix(query, "&"), "").body
		for limit := 1; limit <= 24; limit++ {
			pages := s.pages(t, fmt.Sprintf("?%slimit=%d", query, limit))
			users := slices.DeleteFunc(pages, func(page string) bool { return page == "" })
			if got := "[" + strings.Join(users, ",") + "]"; got != want {
				t.Fatalf("%s, %d a page:\n got %s\nwant %s", query, limit, got, want)
			}
		}
	}
}

// pages follows the links from page to page, and returns what is in the brackets of each.
func (s *service) pages(t *testing.T, query string) (pages []string) {
	t.Helper()
	for range 100 {
		page := s.do(t, http.MethodGet, "/api/users"+query, "")
		if page.status != 200 {
			t.Fatalf("%s is answered %d %s", query, page.status, page.body)
		}
		pages = append(pages, strings.TrimSuffix(strings.TrimPrefix(page.body, "["), "]"))
		link := page.header.Get("Link")
		if link == "" {
			return pages
		}
		query = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	}
	t.Fatalf("%s goes on for ever", query)
	return nil
}

func TestAPageOfLongNamesIsSentInPieces(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i := range 12 {
		s.create(t, strings.Repeat("n", 300_000), fmt.Sprint(i))
	}
	for _, order := range []string{"asc", "desc"} {
		page := s.do(t, "GET", "/api/users?limit=9&order="+order, "")
		if got, want := strings.Count(page.body, `"id"`), 9; got != want || page.header.Get("Content-Length") != "" {
			t.Errorf("%d users in %d bytes, want %d in pieces", got, len(page.body), want)
		}
		rest := s.pages(t, "?limit=9&order="+order)
		all := s.do(t, "GET", "/api/users?order="+order, "").body
		if got := "[" + strings.Join(rest, ",") + "]"; got != all {
			t.Errorf("%s: the pages have %d bytes, want %d", order, len(got), len(all))
		}
	}
	if head := s.do(t, "HEAD", "/api/users?limit=9", ""); head.header.Get("Link") != `<?limit=9&after=9>; rel="next"` {
		t.Errorf("HEAD says %v", head.header)
	}
	found, read := s.do(t, "GET", "/api/users?email=3", ""), s.do(t, "GET", "/api/users/4", "")
	if got, want := read.header.Get("Content-Length"), fmt.Sprint(len(read.body)); got != want {
		t.Errorf("a long user has the length %q, want %s", got, want)
	}
	if tag := found.header.Get("ETag"); tag == "" || tag != read.header.Get("ETag") {
		t.Errorf("a long user alone has the headers %v", found.header)
	}
}
