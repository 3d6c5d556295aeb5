package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"users-api/tests/program"
)

// The parameters of a list, and the Link to what follows; "" when nothing does.
var links = []struct{ query, link string }{
	{"limit=2", `<?limit=2&after=2>; rel="next"`},
	{"limit=5", `<?limit=5&after=5>; rel="next"`},
	{"limit=6", ""},
	{"limit=2&after=4", ""},
	{"limit=1&after=5&order=desc", `<?limit=1&order=desc&after=4>; rel="next"`},
	{"limit=1&q=example.org&count=true&after=1", `<?limit=1&q=example.org&count=true&after=2>; rel="next"`},
	{"limit=1&q=example.org&count=true", `<?limit=1&q=example.org&count=true&after=1>; rel="next"`},
	{"limit=1&email=ada@example.org", ""},
	{"limit=1&id=5&id=1&id=4&email!=&name%21=a", `<?limit=1&id=5&id=1&id=4&email!=&name!=a&after=1>; rel="next"`},
	{"limit=1&created_from=2024-01-02+03:04:05&created_to=2025-01-01", `<?limit=1&created_from=2024-01-02+03%3A04%3A05&created_to=2025-01-01&after=1>; rel="next"`},
	{"limit=1&q=%25", ""},
	{"q=a", ""},
	{"", ""},
}

func TestALinkLeadsToTheNextPageWithEveryParameter(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, l := range links {
		for _, path := range []string{"/api/users", program.CSV, program.NDJSON} {
			expectLink(t, p, path, l.query, l.link)
		}
		for _, parameter := range []string{"spreadsheet=true", "spreadsheet=false"} {
			expectLink(t, p, program.CSV, parameter+"&"+l.query, strings.Replace(l.link, "?", "?"+parameter+"&", 1))
		}
	}
	p.Create(t, "Q&A + Ä%", "escapes@example.org")
	p.Create(t, "Q&A + Ä%", "escapes2@example.org")
	next := p.Do(t, "GET", "/api/users?limit=1&q=Q%26A+%2B+%C3%84%25", "").Header.Get("Link")
	if users, _ := page(t, p, next); len(users) != 1 || users[0].Email != "escapes2@example.org" {
		t.Errorf("%s leads to %v", next, users)
	}
}

func expectLink(t *testing.T, p *program.Program, path, query, want string) {
	t.Helper()
	link := p.Do(t, "GET", path+"?"+query, "").Header.Get("Link")
	if link != want {
		t.Errorf("after %s?%s the Link is %s, want %s", path, query, link, want)
	}
}

// page follows a Link, and returns the users and the next Link.
func page(t *testing.T, p *program.Program, link string) ([]program.User, string) {
	t.Helper()
	query, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	answer := p.Do(t, "GET", "/api/users"+query, "")
	return answer.Users(t), answer.Header.Get("Link")
}

func TestAListOfAnyLengthIsNotCut(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(25_000)
	for query, want := range map[string]int{"q=user": 25_000, "order=desc": 25_000, "after=12345": 12_655} {
		if users := p.Do(t, "GET", "/api/users?"+query, "").Users(t); len(users) != want {
			t.Errorf("?%s lists %d users of %d", query, len(users), want)
		}
	}
}

// Users are created, changed and deleted while a client walks through all users. Users that stay are shown exactly once.
func TestUsersThatStayAreShownOnceWhileOthersComeAndGo(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(600)
	writers := program.StartWriters(8, p)
	var deleted sync.WaitGroup
	deleted.Go(func() {
		for id := int64(5); id <= 600; id += 5 { // every fifth leaves
			if answer, err := p.Send("DELETE", fmt.Sprintf("/api/users/%d", id), ""); err != nil || answer.Status != 204 {
				t.Errorf("deleting %d is answered %d, %v", id, answer.Status, err)
			}
		}
	})
	for _, first := range []string{"?limit=10", "?limit=10&order=desc", "?limit=7&q=example.org", "?limit=1000"} {
		times := map[int64]int{}
		for link := "<" + first + ">"; link != ""; {
			var users []program.User
			users, link = page(t, p, link)
			for _, user := range users {
				times[user.ID]++
			}
		}
		for id := int64(1); id <= 600; id++ {
			if stays := id%5 != 0; times[id] > 1 || stays && times[id] != 1 {
				t.Errorf("%s shows %d %d times", first, id, times[id])
			}
		}
	}
	deleted.Wait()
	writers.StopAndExpect(t, p)
}
