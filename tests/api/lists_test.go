package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAUserMayContainAnyCharacter(t *testing.T) {
	t.Parallel()
	kept := program.Serve(t)
	streamed := program.Serve(t, "DATA_DIR="+kept.DataDir, "LIST_MEMORY_MIB=0")
	var rows strings.Builder
	var want []string
	for char := firstCharacter; char < 0x100; char++ {
		name, email := "before"+string(char)+"after"+strings.Repeat(string(char), 4), string(char)
		text, err := json.Marshal(program.User{Name: name, Email: email})
		program.Must(t, err)
		rows.Write(append(text, '\n'))
		want = append(want, name+" "+email)
	}
	kept.Do(t, "POST", program.NDJSON, rows.String()).Expect(t, 200, "…")
	for _, p := range []*program.Program{kept, streamed} {
		for i, user := range p.List(t) {
			if user.Name+" "+user.Email != want[i] || !program.IsTime(user.CreatedAt) {
				t.Fatalf("%q is listed as %+v", want[i], user)
			}
		}
	}
}

func TestTheListIsInOrderOfID(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do(
		"INSERT INTO users (id, name, email) VALUES (30, 'c', 'c'), (10, 'a', 'z'), (20, 'b', 'y')")
	p.ExpectUsers(t, "a", "b", "c")
}

func TestAListShowsWhatAnotherProgramHasJustCommitted(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	for i := range 50 {
		other.Do(fmt.Sprintf("INSERT INTO users (name, email) VALUES ('n', '%d')", i))
		if users := p.List(t); len(users) != i+1 {
			t.Fatalf("after %d commits %d users are listed", i+1, len(users))
		}
	}
	other.Do("UPDATE users SET name = 'm' WHERE id = 7")
	if users := p.List(t); users[6].Name != "m" {
		t.Errorf("the changed user is listed as %v", users[6])
	}
	other.Do("DELETE FROM users")
	p.ExpectUsers(t)
}

func TestAListThatHasNotChangedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	first := p.Do(t, "GET", "/api/users", "")
	etag := first.Header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) || first.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("the list has the headers %v", first.Header)
	}
	for header, status := range map[string]int{
		etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200,
		"": 200, `"x,` + etag[1:]: 200,
	} {
		answer := p.Do(t, "GET", "/api/users", "", "If-None-Match: "+header)
		if answer.Status != status || (status == 304) != (answer.Body == "") || answer.Header.Get("ETag") != etag {
			t.Errorf("If-None-Match: %s is answered %d %s with %v", header, answer.Status, answer.Body, answer.Header)
		}
	}
	p.Create(t, "Alan", "alan@example.org")
	second := p.Do(t, "GET", "/api/users", "", "If-None-Match: "+etag)
	if second.Status != 200 || second.Header.Get("ETag") == etag {
		t.Errorf("a list that has changed is answered %d with %v", second.Status, second.Header)
	}
}

func TestAWriteThatChangesNothingKeepsTheETag(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := p.Do(t, "GET", "/api/users", "").Header.Get("ETag")
	p.Do(t, "DELETE", "/api/users/2", "")
	p.Do(t, "POST", "/api/users", program.Body("n", "ada@example.org"))
	p.Do(t, "GET", "/api/users", "", "If-None-Match: "+etag).Expect(t, 304, "")
}

func TestAnETagOutlivesARestart(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	etag := p.Do(t, "GET", "/api/users", "").Header.Get("ETag")
	p.Stop(t)
	again := program.Serve(t, "DATA_DIR="+p.DataDir)
	again.Do(t, "GET", "/api/users", "", "If-None-Match: "+etag).Expect(t, 304, "")
}

func TestAStreamedListIsTheSameList(t *testing.T) {
	t.Parallel()
	kept := program.Serve(t)
	streamed := program.Serve(t, "LIST_MEMORY_MIB=0")
	for _, p := range []*program.Program{kept, streamed} {
		other := program.OpenOther(t, p.DatabasePath())
		for _, size := range []int{0, 1, 1999, 2000, 2001, 4000, 9001} {
			other.Empty()
			other.Fill(size)
			users := p.List(t)
			if len(users) != size {
				t.Errorf("%d users of %d are listed", len(users), size)
			}
			for i, user := range users {
				if user.ID != int64(i+1) || user.Email != fmt.Sprintf("user%d@example.org", i+1) {
					t.Fatalf("number %d of %d is %v", i, size, user)
				}
			}
		}
	}
	answer := kept.Do(t, "GET", "/api/users", "")
	program.ExpectLength(t, answer)
	program.ExpectHeader(t, streamed.Do(t, "GET", "/api/users", ""), "ETag", "")
	streamed.Do(t, "HEAD", "/api/users", "").Expect(t, 200, "")
}

func TestAListThatHasBecomeSmallIsKeptAgain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LIST_MEMORY_MIB=1")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(20_000)
	for range 2 {
		program.ExpectHeader(t, p.Do(t, "GET", "/api/users", ""), "ETag", "") // 2 MB are not kept
	}
	other.Do("DELETE FROM users WHERE id > 100")
	p.List(t) // it is streamed, and found to be small
	if answer := p.Do(t, "GET", "/api/users", ""); answer.Header.Get("ETag") == "" {
		t.Error("a small list is still streamed")
	}
}
