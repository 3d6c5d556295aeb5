package api

import (
	"encoding/json"
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

func TestAListThatHasBecomeSmallIsKeptAgain(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "LIST_MEMORY_MIB=1")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(20_000)
	for range 2 {
		program.ExpectHeader(t, p.Do(t, "GET", "/api/users", ""), "ETag", "") // 2 MB are not kept
	}
	p.Do(t, "HEAD", "/api/users", "").Expect(t, 200, "")
	other.Do("DELETE FROM users WHERE id > 100")
	p.List(t) // it is streamed, and found to be small
	answer := p.Do(t, "GET", "/api/users", "")
	if program.ExpectLength(t, answer); answer.Header.Get("ETag") == "" {
		t.Error("a small list is still streamed")
	}
}
