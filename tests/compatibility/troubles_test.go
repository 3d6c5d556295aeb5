package compatibility

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Those that are refused share it, too, and take nobody with them.
func TestCreationsThatWaitTogetherShareACommit(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, "writes that share a commit")
	directory := t.TempDir()
	other := program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do("CREATE TABLE users (" + ordinaryID + ", name text CHECK (name <> 'bad'), email text UNIQUE, created_at text)")
	p := program.Serve(t, "DATA_DIR="+directory, "ADMIN_PORT=0", "CHANGES_KEEP=0")
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
	created := round * (creations - refused)
	program.Expect(t, "how many writes were committed", program.Scrape(t, p)["users_api_commit_writes_sum"][""], created)
	program.Expect(t, "how many users are listed", len(p.List(t)), created)
}

func TestTheUserWithTheIDZeroIsOneLikeAnyOther(t *testing.T) {
	t.Parallel()
	nextIsBelowZero := "INSERT INTO users (id) VALUES (-6)"
	if program.PostgreSQL {
		nextIsBelowZero = "ALTER SEQUENCE users_id_seq MINVALUE -5 RESTART -5"
	}
	table := "CREATE TABLE users (" + ordinaryID + ", name text, email text UNIQUE, created_at " + timeType + ")"
	p, _ := program.ServeFile(t, table, nextIsBelowZero)
	for i := range 8 {
		p.Create(t, "n", fmt.Sprint(i, "@x"))
	}
	p.Change(t, 0, `{"name":"Zero"}`)
	for _, path := range []string{"/api/users/0", "/api/users/5@x"} {
		p.Do(t, "GET", path, "").Expect(t, 200, `{"id":0,"name":"Zero","email":"5@x",…`)
	}
	p.Do(t, "GET", "/api/users?limit=1&after=-1", "").Expect(t, 200, `[{"id":0,…}]`)
	p.Delete(t, 0)
	p.Do(t, "GET", "/api/users/0", "").Expect(t, 404, "…")
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
