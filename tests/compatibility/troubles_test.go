package compatibility

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"users-api/tests/program"
)

// createBeside lets clients create at least so many users each, while a trouble comes at least so many times: a round of
// it returns an error if it went wrong. Every creation must succeed, and every program list its user afterwards, once.
// It returns how many there were.
func createBeside(
	t *testing.T, clients, each, rounds int, trouble func(round int) error, programs ...*program.Program,
) int {
	t.Helper()
	var troubles, others sync.WaitGroup
	var round, created atomic.Int64
	var ended atomic.Bool
	enough := int64(rounds)
	troubles.Go(func() {
		for ; enough > 0 && (round.Load() < enough || !ended.Load()); round.Add(1) {
			if err := trouble(int(round.Load())); err != nil {
				t.Errorf("the trouble, round %d: %v", round.Load(), err)
			}
		}
	})
	for i := range clients {
		others.Go(func() {
			for n := 0; n < each || round.Load() < enough; n++ {
				body := program.Body("n", fmt.Sprintf("other%d-%d", i, n))
				if err := expectStatus(programs[i%len(programs)], 201, "POST", "/api/users", body); err != nil {
					t.Errorf("beside the trouble: %v", err)
				}
				created.Add(1)
			}
		})
	}
	others.Wait()
	ended.Store(true)
	troubles.Wait()
	for _, p := range programs {
		users := slices.DeleteFunc(p.List(t), func(user program.User) bool { return !strings.HasPrefix(user.Email, "other") })
		emails := map[string]bool{}
		for _, user := range users {
			emails[user.Email] = true
		}
		program.Expect(t, "users listed, and their emails", fmt.Sprint(len(users), " ", len(emails)),
			fmt.Sprint(created.Load(), " ", created.Load()))
	}
	return int(created.Load())
}

// expectStatus returns an error unless a request is answered with a status.
func expectStatus(p *program.Program, status int, method, path, body string) error {
	answer, err := p.Send(method, path, body)
	if err == nil && answer.Status != status {
		err = fmt.Errorf("%s %s %s is answered %d %s, want %d", method, path, body, answer.Status, answer.Body, status)
	}
	return err
}

// On SQLite the others still share a commit, also with those who are refused.
func TestAClientWhoseCreationsTheTableRefusesIsNoTroubleToOthers(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do("CREATE TABLE users (" + ordinaryID + ", name text CHECK (name <> 'bad'), email text UNIQUE, created_at " + timeType + ")")
	p := program.Serve(t, "DATA_DIR="+directory, "ADMIN_PORT=0", "CHANGES_KEEP=0")
	created := createBeside(t, 16, 20, 20, func(round int) error {
		return expectStatus(p, 500, "POST", "/api/users", program.Body("bad", fmt.Sprint("bad", round)))
	}, p)
	program.Expect(t, "how many writes were committed", program.Scrape(t, p)["users_api_commit_writes_sum"][""], created)
	program.Expect(t, "how many users are listed", len(p.List(t)), created)
	if program.PostgreSQL {
		return
	}
	commits := func() float64 { return program.Scrape(t, p)["users_api_commit_writes_count"][""] }
	const creations, refused = 20, 2 // by nameOf
	round := 0
	program.WaitFor(t, "creations that wait together share a commit", func() bool { // a busy machine may part them
		round++
		before := commits()
		for i, answer := range atOnce(t, p, other, creations, func(i int) (line, body string) {
			return "POST /api/users", program.Body(nameOf(i), fmt.Sprintf("%d in round %d", i, round))
		}) {
			answer.Expect(t, map[bool]int{true: 500, false: 201}[nameOf(i) == "bad"], "…")
		}
		return commits()-before <= (creations-refused)/3
	})
}

func TestTheUserWithTheIDZeroIsOneLikeAnyOther(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (id, name, email) VALUES (0, 'n', 'zero')")
	const path, body = "/api/users/0", `{"id":0,"name":"%s","email":"zero",…}`
	createBeside(t, 8, 10, 5, func(round int) error {
		name := fmt.Sprint("Zero ", round)
		if err := expectStatus(p, 200, "PATCH", path, `{"name":"`+name+`"}`); err != nil {
			return err
		}
		answer, err := p.Send("GET", path, "")
		if err == nil && !program.Matches(answer.Body, fmt.Sprintf(body, name)) {
			err = fmt.Errorf("after a change it is shown as %s", answer.Body)
		}
		return err
	}, p)
	p.Do(t, "GET", "/api/users?limit=1", "").Expect(t, 200, `[{"id":0,…}]`)
	p.Delete(t, 0)
	p.Do(t, "GET", path, "").Expect(t, 404, "…")
	p.Do(t, "GET", "/api/users?email=zero", "").Expect(t, 200, "[]")
}

func TestTheUserWhoIsGivenTheIDZeroIsCreatedLikeAnyOther(t *testing.T) {
	t.Parallel()
	nextIsBelowZero := []string{"INSERT INTO users (id) VALUES (-6)"}
	if program.PostgreSQL {
		nextIsBelowZero = []string{"ALTER SEQUENCE users_id_seq MINVALUE -5 RESTART -5"}
	}
	table := "CREATE TABLE users (" + ordinaryID + ", name text, email text UNIQUE, created_at " + timeType + ")"
	p, other := program.ServeFile(t, append([]string{table}, nextIsBelowZero...)...)
	for _, answer := range atOnce(t, p, other, 20, func(i int) (line, body string) {
		return "POST /api/users", program.Body("n", fmt.Sprint(i))
	}) {
		answer.Expect(t, 201, "…")
	}
	p.Do(t, "GET", "/api/users/0", "").Expect(t, 200, `{"id":0,…`)
}

// oddRows have values of every kind that another program may store in a column, many of them equal in order.
var oddRows = []string{
	"'same', 'e1', '2024-01-01 00:00:00'", "'Same', 'e2', '2024-01-01T00:00:00Z'", "'same', 'e3', NULL", "NULL, 'e4', NULL",
	"NULL, NULL, NULL", "'', 'e5', NULL", "NULL, '', 'now'",
}

func TestAWalkOfSortedPagesMeetsEachUserOnceWhateverIsStored(t *testing.T) {
	t.Parallel()
	p, other := program.ServeFile(t, "CREATE TABLE users ("+ordinaryID+", name text, email text, created_at "+timeType+")")
	for _, row := range slices.Concat(oddRows, oddRows) {
		other.Do("INSERT INTO users (name, email, created_at) VALUES (" + row + ")")
	}
	all := len(p.List(t))
	program.Expect(t, "how many users are listed", all, 2*len(oddRows))
	for _, sort := range []string{"name", "created_at", "email"} {
		for _, order := range []string{"asc", "desc"} {
			met, pages := map[int64]int{}, walk(t, p, "limit=2&sort="+sort+"&order="+order, 2*all)
			for _, user := range slices.Concat(pages...) {
				met[user.ID]++
			}
			for id := range int64(all) {
				if met[id+1] != 1 {
					t.Errorf("in %d pages by %s, %s, the user %d comes %d times", len(pages), sort, order, id+1, met[id+1])
				}
			}
		}
	}
}

func TestAPageOfUsersWithLongNamesHasAsManyAsItShould(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for i := range 7 {
		p.Create(t, strings.Repeat("n", 100_000), fmt.Sprint(i))
	}
	lengths := []int{}
	for _, page := range walk(t, p, "limit=3&sort=name", 9) {
		lengths = append(lengths, len(page))
	}
	program.Expect(t, "how many users the pages have", lengths, []int{3, 3, 1})
}

// walk reads pages until no Link leads on, and at most so many.
func walk(t *testing.T, p *program.Program, query string, most int) (pages [][]program.User) {
	t.Helper()
	for next := "?" + query; next != "" && len(pages) < most; {
		page := p.Do(t, "GET", "/api/users"+next, "")
		pages = append(pages, page.Users(t))
		next, _, _ = strings.Cut(strings.TrimPrefix(page.Header.Get("Link"), "<"), ">")
	}
	return pages
}

// Whoever is deleted between two statements must not be listed as somebody without values. Of 1,000 rounds, some five would see
// it: other clients would make them fewer.
func TestASortedPageOfOneUserIsOfOneMoment(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for range program.Times(500, 5000) {
		answer := p.Do(t, "GET", "/api/users?email=come@and.go&sort=name&limit=1", "")
		if answer.Body != "[]" && !strings.Contains(answer.Body, `"email":"come@and.go"`) {
			t.Fatalf("the page is %s", answer.Body)
		}
		p.Do(t, "PUT", "/api/users/come@and.go", `{"name":"n"}`)
		go func() { _, _ = p.Send("DELETE", "/api/users/come@and.go", "") }()
	}
}

// Another column holds 128 MiB, and the names of users who have no email 100. Garbage is not held: little of it is let grow.
func TestAReadHoldsNeitherOtherColumnsNorAllUsersInMemory(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, "the memory that SQLite takes is the program's")
	directory := t.TempDir()
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do("CREATE TABLE users (" + ordinaryID + ", name text, email text UNIQUE, created_at text, photo blob)")
	const upTo = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	other.Do(fmt.Sprintf("INSERT INTO users (name, email, photo) "+upTo+"SELECT 'a' || i, i, zeroblob(524288) FROM n", 256))
	other.Do(fmt.Sprintf("INSERT INTO users (name) "+upTo+"SELECT 'b' || i || hex(zeroblob(1000)) FROM n", 50_000))
	p := program.Serve(t, "DATA_DIR="+directory, "GOGC=50")
	before := p.Memory(t, "VmHWM")
	first := p.Do(t, "GET", "/api/users?sort=name&limit=1", "")
	link, _, _ := strings.Cut(strings.TrimPrefix(first.Header.Get("Link"), "<"), ">")
	for _, path := range []string{"/api/users" + strings.Replace(link, "limit=1&", "limit=1000&", 1), "/api/users.csv?email="} {
		p.Do(t, "GET", path, "").Expect(t, 200, "…")
		if took := p.Memory(t, "VmHWM") - before; took > program.MemoryBound(48<<20) {
			t.Errorf("%s takes %d MiB", path, took>>20)
		}
	}
}
