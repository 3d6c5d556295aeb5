package models_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

func TestReads(t *testing.T) {
	onEach(t, []test{
		{"a page begins anywhere, ends where it was asked to, and is the same from memory", pages},
		{"a page has a bounded size, whichever texts are long", pageSizes},
		{"a user by email comes from memory and is never another", byEmail},
		{"a list has the version of its users", versions},
		{"an export is of one moment", exports},
	}, plain())
}

// storedPage makes the page of a query from storage, and reports whether it is too long to come from memory.
func (s *storage) storedPage(t testing.TB, query models.Query) (page models.Page, long bool) {
	t.Helper()
	array, bytes, more := s.fields.NewArray(0), 0, query
	more.Limit++
	for _, user := range s.selected(t, more) {
		if page.More = page.Users == query.Limit; page.More {
			break
		}
		long = long || bytes >= models.PageBytes
		bytes = array.Add(&user)
		page.Users, page.Last = page.Users+1, user.ID
	}
	page.JSON = array.End()
	var err error
	if page.Total, err = s.Count(ctx, query); err != nil {
		t.Fatal(err)
	}
	return page, long
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

// expectPage compares the page in memory with the same from storage.
func (s *storage) expectPage(t testing.TB, query models.Query) {
	t.Helper()
	want, long := s.storedPage(t, query)
	page := s.cachedPage(t, query)
	if (page == nil) != long {
		t.Errorf("%+v: a page of %d bytes is in memory: %t", query, len(want.JSON), page != nil)
	} else if page != nil && (string(page.JSON) != string(want.JSON) || page.Users != want.Users || page.Last != want.Last ||
		page.More != want.More || page.Total != want.Total) {
		t.Errorf("%+v: the page in memory is %.1000v, want %.1000v", query, *page, want)
	}
}

// pages walks through users with gaps between their ids, some with names so long that many do not fit into a page.
func pages(t *testing.T, s *storage) {
	s.expectPage(t, models.Query{Limit: 1})
	var rows []models.Values
	for i := range 1100 {
		name := "n"
		if i > 1070 {
			name = strings.Repeat("n", i%4*50_000+1)
		}
		rows = append(rows, values(s.fields, "name", name, "email", fmt.Sprint(i)))
	}
	if _, err := s.Import(ctx, lines(rows), models.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{1, 2, 3, 511, 512, 513, 700, 1023, 1024} {
		if err := s.Delete(ctx, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	all := s.ids(t, models.Query{})
	for _, descending := range []bool{false, true} {
		if descending {
			slices.Reverse(all)
		}
		for _, limit := range []int{7, 100, 1000} {
			query := models.Query{Limit: limit, Descending: descending}
			var walked []int64
			for page := s.ids(t, query); len(page) > 0; page = s.ids(t, query) {
				if walked = append(walked, page...); len(page) > limit || len(page) < limit && len(walked) < len(all) {
					t.Errorf("a page of %d has %d users", limit, len(page))
				}
				query.After = &walked[len(walked)-1]
			}
			if !slices.Equal(walked, all) {
				t.Errorf("by %d, descending %t: %v", limit, descending, walked)
			}
			for _, after := range []int64{math.MinInt64, -1, 0, 3, 511, 512, 1023, 1060, 1098, 1100, math.MaxInt64} {
				query.After = &after
				s.expectPage(t, query)
			}
		}
	}
}

// A limit that counted names alone would let a page of long emails take all memory.
func pageSizes(t *testing.T, s *storage) {
	const n, most = 24, 256 << 10
	long := strings.Repeat("x", 30_000)
	for what, row := range map[string]func(i int) models.Values{
		"names":  func(i int) models.Values { return values(s.fields, "name", long, "email", fmt.Sprint(i)) },
		"emails": func(i int) models.Values { return values(s.fields, "name", "n", "email", fmt.Sprint(i, long)) },
	} {
		var rows []models.Values
		for i := range n {
			rows = append(rows, row(i))
		}
		options := models.ImportOptions{OnConflict: models.ConflictUpdates, DeleteMissing: true, MaxDeletes: n}
		if _, err := s.Import(ctx, lines(rows), options); err != nil {
			t.Fatal(err)
		}
		found := 0
		for page, err := range s.Select(ctx, models.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			bytes := 0
			for _, user := range page {
				found++
				bytes += s.fields.Bytes(&user.NewUser)
			}
			if bytes > most {
				t.Errorf("a page of %d users with long %s has %d bytes", len(page), what, bytes)
			}
		}
		if found != n {
			t.Errorf("%d users with long %s are on the pages, want %d", found, what, n)
		}
	}
}

func byEmail(t *testing.T, s *storage) {
	ada, odd := s.create(t, "ada"), s.create(t, `"\odd"`)
	if _, err := s.Create(ctx, models.NewUser{Name: `x","email":"alan`, Email: "eve"}); err != nil {
		t.Fatal(err)
	}
	give := func(email string) func() error {
		return func() error { _, err := s.Change(ctx, odd, values(s.fields, "email", email), nil); return err }
	}
	for _, test := range []struct {
		name   string
		before func() error
		email  string
		isIn   bool // memory; otherwise storage must be asked
	}{
		{"a user", nil, "ada", true},
		{"an email with quotes", nil, `"\odd"`, true},
		{"no user", nil, "nobody", false},
		{"a part of an email", nil, "ad", false},
		{"another case", nil, "ADA", false},
		{"a name that looks like one", nil, "alan", false},
		{"an email that its user has given up", give("taken"), `"\odd"`, false},
		{"an email that a user has taken", nil, "taken", true},
		{"an email whose user is gone", func() error { return s.Delete(ctx, ada, nil) }, "ada", false},
		{"an email that another user has taken", give("ada"), "ada", true},
	} {
		if s.list(t); test.before != nil {
			if err := test.before(); err != nil {
				t.Fatal(err)
			}
		}
		query := models.Query{Equal: values(s.fields, "email", test.email), Limit: 1}
		page, err := s.Page(ctx, query)
		if page == nil && test.isIn {
			page = s.cachedPage(t, query)
		}
		if (page != nil) != test.isIn || err != nil {
			t.Errorf("%s: in memory is %v, %v", test.name, page, err)
		} else if want, _ := s.storedPage(t, query); page != nil && (string(page.JSON) != string(want.JSON) || page.Total != 1 || page.More) {
			t.Errorf("%s: in memory is %v, want %s", test.name, page, want.JSON)
		}
	}
}

func versions(t *testing.T, s *storage) {
	text, version := s.list(t)
	if text != "[]" || version == "" {
		t.Errorf("an empty list is %s, with the version %q", text, version)
	}
	seen := map[string]string{version: text}
	for i := range 5 {
		id := s.create(t, fmt.Sprint(i))
		if i%2 == 1 {
			if err := s.Delete(ctx, id, nil); err != nil {
				t.Fatal(err)
			}
		}
		text, version = s.list(t)
		if other, found := seen[version]; found && other != text {
			t.Errorf("%s and %s have the version %s", other, text, version)
		}
		seen[version] = text
	}
	if len(seen) != 4 { // of none, then 1, 2 and 3 users: what is created and deleted leaves the list as it was
		t.Errorf("the lists have %d versions", len(seen))
	}
}

// exports reads while all users get another name again and again, each time in one commit.
func exports(t *testing.T, s *storage) {
	const n, names = 3000, 4
	renameAll := func(name string) {
		var rows []models.Values
		for i := range n {
			rows = append(rows, values(s.fields, "name", name, "email", fmt.Sprint(i)))
		}
		if _, err := s.Import(ctx, lines(rows), models.ImportOptions{OnConflict: models.ConflictUpdates}); err != nil {
			t.Error(err)
		}
	}
	renameAll("0")
	renamed := make(chan struct{})
	go func() {
		defer close(renamed)
		for i := range names {
			renameAll(fmt.Sprint(i + 1))
		}
	}()
	for done := false; !done; {
		select {
		case <-renamed:
			done = true
		default:
		}
		export, users, err := exported(s.Users, models.Query{Count: true})
		found := map[string]int{}
		for _, user := range users {
			found[user.Name]++
		}
		if len(found) != 1 || len(users) != n || export.Total != n || err != nil {
			t.Fatalf("of %d users these have each name: %v, %v", export.Total, found, err)
		}
	}
	query := models.Query{Contains: "299", Limit: 3, Descending: true, Count: true}
	export, users, err := exported(s.Users, query)
	if err != nil || export.Total != 13 || len(users) != 3 || users[0].ID <= users[1].ID {
		t.Errorf("a query gave %d of %d users, %v", len(users), export.Total, err)
	}
	enough := fmt.Errorf("enough users")
	err = s.Export(ctx, models.Query{}, func(export models.Export) error {
		for range export.Users {
			return enough
		}
		return nil
	})
	if err == nil || err.Error() != enough.Error() {
		t.Errorf("an export that is left: %v", err)
	}
	renameAll("last") // nothing is left behind
}

// expectCounted expects that as many users are counted, also for an export, as match regardless of the limit.
func (s *storage) expectCounted(t *testing.T, name string, query models.Query) {
	t.Helper()
	whole := query
	whole.After, whole.Limit, whole.Count = nil, 0, true
	matching := s.selected(t, whole)
	counted, failed := s.Count(ctx, query)
	export, users, err := exported(s.Users, whole)
	if counted != int64(len(matching)) || export.Total != counted || !slices.EqualFunc(users, matching, s.same) || failed != nil || err != nil {
		t.Errorf("%s: %d are found, %d counted, %d counted for an export and %d in it, %v, %v", name, len(matching), counted,
			export.Total, len(users), failed, err)
	}
}
