package routes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"users-api/models"
)

// startTwice serves one database twice: with pages from memory, and with pages from storage.
func startTwice(t *testing.T) (memory, storage *service) {
	t.Helper()
	memory = start(t)
	return memory, startService(t, Service{Users: openUsers(t, memory.Database, 0)}, nil)
}

func (r reply) shown() string { return fmt.Sprintf("%d %v\n%s", r.status, r.header, r.body) }

// expectSamePage compares the whole responses to a request, and returns one.
func expectSamePage(t *testing.T, memory, storage *service, method, query string, headers ...string) reply {
	t.Helper()
	got, want := memory.do(t, method, "/api/users"+query, "", headers...), storage.do(t, method, "/api/users"+query, "", headers...)
	for _, header := range []http.Header{got.header, want.header} {
		header.Del("Date")
		header.Del("X-Request-Id")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s %s %v from memory is\n%.2000v\nfrom storage\n%.2000v", method, query, headers, got.shown(), want.shown())
	}
	return got
}

// expectSamePages compares some pages, and what a client is answered that has them already.
func expectSamePages(t *testing.T, memory, storage *service, random *rand.Rand) {
	t.Helper()
	memory.do(t, "GET", "/api/users", "") // the list is read
	for range 40 {
		query := fmt.Sprintf("?limit=%d&order=%s", 1+random.IntN(30), []string{"asc", "desc"}[random.IntN(2)])
		switch random.IntN(4) {
		case 0:
		case 1:
			query += fmt.Sprint("&after=", []int64{math.MinInt64, -1, 0, 511, 512, math.MaxInt64}[random.IntN(6)])
		default:
			query += fmt.Sprint("&after=", random.IntN(3000)-1500)
		}
		query += []string{"", "&count=true"}[random.IntN(2)]
		tag := expectSamePage(t, memory, storage, "GET", query).header.Get("ETag")
		expectSamePage(t, memory, storage, "HEAD", query)
		again := expectSamePage(t, memory, storage, "GET", query, "If-None-Match: "+tag)
		if tag == "" || again.status != 304 || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s with the ETag %s is answered %d with %v", query, tag, again.status, again.header)
		}
	}
}

// expectSameUsers compares some users, some who do not exist, and what a client is answered that has them already.
func expectSameUsers(t *testing.T, memory, storage *service, random *rand.Rand) {
	t.Helper()
	ids := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 511, 512, math.MaxInt64 - 1, math.MaxInt64}
	for range 200 {
		ids = append(ids, int64(random.IntN(3000)-1500))
	}
	for _, id := range ids {
		path := fmt.Sprint("/", id)
		tag := expectSamePage(t, memory, storage, "GET", path).header.Get("ETag")
		expectSamePage(t, memory, storage, "HEAD", path)
		again := expectSamePage(t, memory, storage, "GET", path, "If-None-Match: "+tag)
		if tag != "" && again.status != 304 {
			t.Errorf("%s with the ETag %s is answered %d", path, tag, again.status)
		}
	}
}

// A page or a user from memory is byte for byte what storage has, with all headers.
func TestWhatIsInMemoryIsWhatIsInStorage(t *testing.T) {
	t.Parallel()
	memory, storage := startTwice(t)
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	expectSamePages(t, memory, storage, random) // of no users
	names := []string{"Ada", `"<&>"`, "é\u2028", "x\x00y", strings.Repeat("long ", 100)}
	for i := range 60 {
		user := models.NewUser{Name: names[i%len(names)], Email: fmt.Sprint(i)}
		if _, err := memory.Create(t.Context(), user); err != nil {
			t.Fatal(err)
		}
	}
	memory.others(t, "UPDATE users SET id = id * 37 + 10000; UPDATE users SET id = id - 11200") // gaps, and negative ids
	memory.others(t, "UPDATE users SET id = -9223372036854775807 - 1 WHERE id = (SELECT max(id) FROM users)")
	expectSamePages(t, memory, storage, random)
	expectSameUsers(t, memory, storage, random)
	memory.others(t, longNames) // more than a page may hold
	for _, query := range []string{"?limit=9", "?limit=9&order=desc", "?limit=1000", "?email=7"} {
		expectSamePage(t, memory, storage, "GET", query)
		expectSamePage(t, memory, storage, "HEAD", query)
	}
}

func TestAPageOfOneUserHasTheETagOfTheUser(t *testing.T) {
	t.Parallel()
	memory, storage := startTwice(t)
	memory.create(t, "Ada", "ada@example.org")
	memory.create(t, "Alan", "alan@example.org")
	memory.do(t, "GET", "/api/users", "")
	want := memory.do(t, "GET", "/api/users/2", "").header.Get("ETag")
	page := expectSamePage(t, memory, storage, "GET", "?limit=1&order=desc&count=true")
	if got := page.header.Get("ETag"); got != want || want == "" {
		t.Errorf("the ETag is %s, want %s", got, want)
	}
	if link := page.header.Get("Link"); link != `<?limit=1&order=desc&count=true&after=2>; rel="next"` {
		t.Errorf("the Link is %s", link)
	}
	if total := page.header.Get("X-Total-Count"); total != "2" {
		t.Errorf("the total is %s", total)
	}
	other := expectSamePage(t, memory, storage, "GET", "?limit=2").header.Get("ETag")
	for _, write := range []string{"DELETE FROM users WHERE id = 1", "UPDATE users SET name = 'new'"} {
		memory.others(t, write)
		memory.do(t, "GET", "/api/users", "")
		now := expectSamePage(t, memory, storage, "GET", "?limit=2").header.Get("ETag")
		if now == other {
			t.Errorf("after %s the page has the same ETag", write)
		}
		other = now
	}
}

// A client keeps the headers that a 304 does not repeat, also a Link to users who are gone.
func TestAPageThatNothingFollowsAnyMoreIsSentAgain(t *testing.T) {
	t.Parallel()
	memory, storage := startTwice(t)
	for _, email := range []string{"a", "b", "c"} {
		memory.create(t, "n", email)
	}
	memory.do(t, "GET", "/api/users", "")
	tag := expectSamePage(t, memory, storage, "GET", "?limit=2").header.Get("ETag")
	memory.others(t, "DELETE FROM users WHERE email = 'c'")
	memory.do(t, "GET", "/api/users", "")
	if page := expectSamePage(t, memory, storage, "GET", "?limit=2", "If-None-Match: "+tag); page.status != 200 {
		t.Errorf("it is answered %d", page.status)
	}
}
