package compatibility

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Of 1,000 rounds, some five would see what a client writes between two statements: other clients would make them fewer.
func TestAPageOfTwoStatementsIsOfOneMoment(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "n", "come")
	for range program.Times(500, 5000) {
		p.Do(t, "PATCH", "/api/users/1", `{"email":"come"}`)
		go func() { _, _ = p.Send("PATCH", "/api/users/1", `{"email":"gone"}`) }()
		sorted := p.Do(t, "GET", "/api/users?email=come&sort=name&limit=1", "")
		if sorted.Body != "[]" && !strings.Contains(sorted.Body, `"email":"come"`) {
			t.Fatalf("the page is %s", sorted.Body)
		}
		p.Do(t, "PUT", "/api/users/come@and.go", `{"name":"n"}`)
		go func() { _, _ = p.Send("DELETE", "/api/users/come@and.go", "") }()
		counted := p.Do(t, "GET", "/api/users?limit=9&count=true", "")
		program.Expect(t, "the count", counted.Header.Get("X-Total-Count"), fmt.Sprint(strings.Count(counted.Body, `"id"`)))
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
	next := p.Do(t, "GET", "/api/users?sort=name&limit=1", "").Next()
	for _, path := range []string{"/api/users" + strings.Replace(next, "limit=1&", "limit=1000&", 1), "/api/users.csv?email="} {
		p.Do(t, "GET", path, "").Expect(t, 200, "…")
		if took := p.Memory(t, "VmHWM") - before; took > program.MemoryBound(48<<20) {
			t.Errorf("%s takes %d MiB", path, took>>20)
		}
	}
}
