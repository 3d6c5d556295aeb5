package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"users-api/tests/program"
)

// fastest runs what it is given a few times and returns the shortest time: a busy machine only adds to it.
func fastest(times int, prepare, measured func()) time.Duration {
	shortest := time.Hour
	for range times {
		prepare()
		began := time.Now()
		measured()
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

// The next list after a creation is the old one and one more user. Reading 200,000 users anew takes 100 times as long,
// and a write that has changed nothing is no reason for it.
func TestAWriteThatChangesNothingDoesNotMakeTheNextListSlow(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.Mended)
	p := start(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(200_000)
	p.List(t)
	created := 0
	next := func(before func()) func() { // a creation after another write
		return func() {
			before()
			p.Create(t, "n", fmt.Sprint(created))
			created++
		}
	}
	head := func() { p.Do(t, http.MethodHead, "/api/users", "") }
	anew := fastest(3, next(func() { other.Do("UPDATE users SET name = name || 'x' WHERE id = 1") }), head)
	for name, write := range map[string]func(){
		"a deletion of nobody": func() { p.Do(t, "DELETE", "/api/users/900000", "") },
		"a refused creation":   func() { p.Do(t, "POST", "/api/users", program.Body("n", "user1@example.org")) },
		"a body without names": func() { p.Do(t, "POST", "/api/users", "{}") },
	} {
		took := fastest(5, next(write), head)
		t.Logf("after %s the list takes %s, and %s when it is read anew", name, took, anew)
		if took > anew/4 {
			t.Errorf("after %s the list takes %s, and %s when it is read anew", name, took, anew)
		}
	}
}

func TestAWriteThatChangesNothingKeepsTheETag(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := p.Do(t, http.MethodGet, "/api/users", "").Header.Get("ETag")
	p.Do(t, "DELETE", "/api/users/2", "")
	p.Do(t, "POST", "/api/users", program.Body("n", "ada@example.org"))
	if answer := p.Do(t, http.MethodGet, "/api/users", "", "If-None-Match: "+etag); answer.Status != 304 {
		t.Errorf("the list is answered %d", answer.Status)
	}
}

// The program reads most rows in a fast way that cannot stand this character, and the others in a slow one. Both must
// show the same.
func TestAUserIsListedTheSameWhoeverElseIsInTheList(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.AnyType)
	for _, setting := range []string{"LIST_MEMORY_MIB=32", "LIST_MEMORY_MIB=0"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			p := start(t, setting)
			other := program.OpenOther(t, p.DatabasePath())
			other.Do("DROP TABLE users", "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)")
			for i, value := range []string{
				"1500000.0", "1e15", "-0.0", "9e999", "1e-7", "123456789012345678", "1.1", "x'c3a9'", "x'ff'", "x'00'", "NULL",
				"'text'", "''", "0.1 + 0.2", "1e100", "CAST(x'61ff62' AS TEXT)", "char(0)", "'a' || char(0) || 'b'",
				"'2024-01-02T03:04:05+01:00'", "1700000000.5",
			} {
				other.Do(fmt.Sprintf("INSERT INTO users VALUES (%d, %s, %[2]s, %[2]s)", i+1, value))
			}
			before := p.Do(t, "GET", "/api/users", "").Body
			other.Do("INSERT INTO users VALUES (99, 'before' || char(0x1f) || 'after', '', '')")
			after := p.Do(t, "GET", "/api/users", "").Body
			added := `,{"id":99,"name":"before\u001fafter","email":"","created_at":""}]`
			if want := before[:len(before)-1] + added; after != want {
				t.Errorf("the list is\n%s\nwant\n%s", after, want)
			}
		})
	}
}

func TestANumberThatAnotherProgramStoredIsShownAsItStoredIt(t *testing.T) {
	t.Parallel()
	program.NeedsFile(t, program.AnyType)
	p, _ := serveFile(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name, email, created_at)",
		"INSERT INTO users VALUES (1, 1500000.0, 42, '')")
	const want = `[{"id":1,"name":"1500000.0","email":"42","created_at":""}]`
	if list := p.Do(t, "GET", "/api/users", "").Body; list != want {
		t.Errorf("the list is %s", list)
	}
}
