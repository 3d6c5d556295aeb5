package api

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A page or a user from memory is byte for byte what storage has, with all headers: two programs serve one database.
func TestWhatIsInMemoryIsWhatIsInStorage(t *testing.T) {
	t.Parallel()
	memory := program.Serve(t)
	storage := program.Serve(t, "DATA_DIR="+memory.DataDir, "LIST_MEMORY_MIB=0")
	other := program.OpenOther(t, memory.DatabasePath())
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	queries := func() (all []string) {
		for range 25 {
			query := fmt.Sprintf("?limit=%d&order=%s", 1+random.IntN(30), []string{"asc", "desc"}[random.IntN(2)])
			query += []string{"", "&count=true"}[random.IntN(2)]
			after := []int64{math.MinInt64, math.MaxInt64, 0, 511, random.Int64N(3000) - 1500}
			if at := random.IntN(6); at < len(after) {
				query += fmt.Sprint("&after=", after[at])
			}
			all = append(all, query)
		}
		return all
	}
	expectSame(t, memory, storage, queries()...) // of no users
	names := []string{"Ada", `"<&>"`, "é\u2028", "x" + string(firstCharacter) + "y", strings.Repeat("long ", 100)}
	for i := range 60 {
		memory.Create(t, names[i%len(names)], fmt.Sprint(i))
	}
	other.Do("UPDATE users SET id = id * 37 + 10000", "UPDATE users SET id = id - 11200", // gaps, and negative ids
		"UPDATE users SET id = -9223372036854775807 - 1 WHERE id = (SELECT max(id) FROM users)")
	expectSame(t, memory, storage, queries()...)
	paths := []string{fmt.Sprint("/", int64(math.MinInt64)), fmt.Sprint("/", int64(math.MaxInt64)), "/0", "/-1163", "/-1164"}
	for range 40 {
		paths = append(paths, fmt.Sprint("/", random.IntN(3000)-1500))
	}
	expectSame(t, memory, storage, paths...)
	for i := range 9 { // more than a page may hold
		memory.Create(t, strings.Repeat("n", 1_000_000), fmt.Sprint("long", i))
	}
	expectSame(t, memory, storage, "?limit=9", "?limit=9&order=desc", "?limit=1000", "?email=7")
}

// expectSame compares the whole answers of two programs, also for clients that have them already.
func expectSame(t *testing.T, memory, storage *program.Program, paths ...string) {
	t.Helper()
	memory.Do(t, "GET", "/api/users", "") // the list is read
	for _, path := range paths {
		tag := ""
		for _, method := range []string{"GET", "HEAD", "GET"} { // the last with the ETag
			var got [2]program.Answer
			for i, p := range []*program.Program{memory, storage} {
				got[i] = p.Do(t, method, "/api/users"+path, "", "If-None-Match: "+tag)
				got[i].Header.Del("Date")
				got[i].Header.Del("X-Request-Id")
			}
			if !reflect.DeepEqual(got[0], got[1]) {
				t.Errorf("%s %s from memory is\n%.2000v\nfrom storage\n%.2000v", method, path, got[0], got[1])
			}
			if tag != "" && method == "GET" && got[0].Status != 304 {
				t.Errorf("%s with the ETag %s is answered %d", path, tag, got[0].Status)
			}
			if method == "HEAD" {
				tag = got[0].Header.Get("ETag")
			}
		}
	}
}

// A client keeps each header that a 304 does not repeat, also a Link to users who are gone.
func TestALinkToUsersWhoAreGoneIsNotKept(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"LIST_MEMORY_MIB=64", "LIST_MEMORY_MIB=0"} {
		p := program.Serve(t, setting)
		other := program.OpenOther(t, p.DatabasePath())
		for path, status := range map[string]int{"/api/users?limit=2": 200, "/api/users?limit=1": 304,
			program.CSV + "?limit=2": 200, program.NDJSON + "?limit=1": 200} {
			other.Empty()
			other.Fill(3)
			p.List(t)
			page := p.Do(t, "GET", path, "")
			other.Do("DELETE FROM users WHERE id > 1 AND id <> " + path[len(path)-1:])
			p.List(t)
			again := p.Do(t, "GET", path, "", "If-None-Match: "+page.Header.Get("ETag"))
			again.Expect(t, status, map[int]string{200: page.Body}[status])
			kept := program.Answer{Header: page.Header}
			maps.Copy(kept.Header, again.Header)
			if status == 200 {
				kept = again
			}
			program.ExpectHeader(t, kept, "Link", "")
		}
	}
}
