package routes

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"testing"

	"users-api/models"
)

// meddled is a storage that somebody writes to between two questions of one request.
type meddled struct {
	models.Users
	asked   int
	between func()
}

func (m *meddled) Select(ctx context.Context, query models.Query) iter.Seq2[[]models.User, error] {
	if m.asked++; m.asked == 2 {
		m.between()
	}
	return m.Users.Select(ctx, query)
}

// startMeddled serves users, of which another program makes others when a request has asked for them once.
func startMeddled(t *testing.T, before, between string) *service {
	t.Helper()
	users, path := openUsers(t)
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	run := func(statement string) {
		if _, err := other.Exec(statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	run(before)
	return startWith(t, &meddled{Users: users, between: func() { run(between) }}, nil)
}

// Export writes when it is known what the headers say.
func (m *meddled) Export(ctx context.Context, query models.Query, send func(models.Export) error) error {
	return m.Users.Export(ctx, query, func(export models.Export) error {
		m.between()
		return send(export)
	})
}

// The headers of an export say what its body holds, whatever is written meanwhile.
func TestTheHeadersOfAnExportAreOfTheSameMomentAsItsBody(t *testing.T) {
	t.Parallel()
	const before = "INSERT INTO users (id, name, email) VALUES (1, 'n', 'a'), (2, 'n', 'b'), (3, 'n', 'c'), (4, 'n', 'd')"
	for query, want := range map[string]string{"": "2", "&order=desc": "3"} {
		first := map[string]string{"": "1", "&order=desc": "4"}[query]
		s := startMeddled(t, before, "DELETE FROM users WHERE id IN (1, 4)")
		got := s.do(t, "GET", "/api/users.ndjson?limit=2&count=true"+query, "")
		if total := got.header.Get("X-Total-Count"); total != "4" {
			t.Errorf("the total is %s", total)
		}
		if link := fmt.Sprintf(`<?limit=2&count=true%s&after=%s>; rel="next"`, query, want); got.header.Get("Link") != link {
			t.Errorf("the link is %s, want %s", got.header.Get("Link"), link)
		}
		if !strings.HasPrefix(got.body, `{"id":`+first+",") || !strings.Contains(got.body, `{"id":`+want+",") ||
			strings.Count(got.body, "\n") != 2 {
			t.Errorf("%s: the file is %s", query, got.body)
		}
	}
}

// A long page is read in two parts. Users that are added between them displace none.
func TestALongPageShowsEveryUserWhoWasThere(t *testing.T) {
	t.Parallel()
	s := startMeddled(t,
		"INSERT INTO users (id, name, email) VALUES (1, printf('%.*c', 1100000, 'n'), 'a'), (10, 'n', 'b'), (20, 'n', 'c'), (30, 'n', 'd')",
		"INSERT INTO users (id, name, email) VALUES (11, 'n', 'e'), (12, 'n', 'f'), (13, 'n', 'g'), (14, 'n', 'h'), (15, 'n', 'i')")
	got := s.do(t, "GET", "/api/users?limit=3", "")
	if link := `<?limit=3&after=20>; rel="next"`; got.header.Get("Link") != link {
		t.Errorf("the link is %s, want %s", got.header.Get("Link"), link)
	}
	for _, id := range []string{"1", "10", "20"} {
		if !strings.Contains(got.body, `{"id":`+id+",") {
			t.Errorf("%s is not on the page", id)
		}
	}
	if strings.Contains(got.body, `{"id":30,`) {
		t.Error("30 is on this page and on the next")
	}
}

// HEAD of an export reads no users, of which there may be millions.
func TestHEADOfAnExportReadsNoUsers(t *testing.T) {
	t.Parallel()
	s := startWith(t, breaking{stored(t), nil, longUsers(0, full)}, nil)
	for _, path := range []string{"/api/users.csv", "/api/users.ndjson"} {
		got := s.do(t, "HEAD", path, "")
		if got.status != 200 || got.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("HEAD %s is answered %d with %v", path, got.status, got.header)
		}
		if got := s.do(t, "GET", path, ""); got.status != 500 {
			t.Errorf("GET %s is answered %d", path, got.status)
		}
	}
}
