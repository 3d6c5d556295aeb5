package fields

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// longAgo is when a test makes the last change of users seem to have been: a change of updated_at alone is none.
const longAgo = "2020-01-02 03:04:05"

func age(t *testing.T, p *program.Program) {
	t.Helper()
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET updated_at = '" + longAgo + "+00:00'")
}

// changed returns the names of users in a list who were changed just now; the others must have been changed long ago.
func changed(t *testing.T, list program.Answer) (names []string) {
	t.Helper()
	var users []struct {
		Name      string
		UpdatedAt string `json:"updated_at"`
	}
	program.Must(t, json.Unmarshal([]byte(list.Body), &users))
	for _, user := range users {
		at, err := time.Parse(time.DateTime, user.UpdatedAt)
		switch since := time.Since(at); {
		case err == nil && 0 <= since && since < program.Patience:
			names = append(names, user.Name)
		case user.UpdatedAt != longAgo:
			t.Errorf("%s was changed at %q", user.Name, user.UpdatedAt)
		}
	}
	return names
}

// serveTimes starts a program with Ada and Alan, whose last change was long ago.
func serveTimes(t *testing.T) *program.Program {
	t.Helper()
	p := program.Serve(t, "USER_FIELDS=room,updated_at,city")
	expect(t, p, exchange{"no time is in the response to a creation, and none is taken", "POST /api/users",
		`{"name":"Ada","email":"ada","room":"1","updated_at":5}`, `201 {"id":1,"name":"Ada","email":"ada","room":"1","city":null}`},
		exchange{"another user", "POST /api/users", `{"name":"Alan","email":"alan"}`, "201 …"})
	program.Expect(t, "who was created", changed(t, p.Do(t, "GET", "/api/users", "")), "[Ada Alan]")
	age(t, p)
	return p
}

func TestUpdatedAtIsTheTimeOfTheLastChange(t *testing.T) {
	t.Parallel()
	p := serveTimes(t)
	for _, test := range []struct{ name, write, body, want string }{
		{"PATCH", "PATCH /api/users/1", `{"room":"2"}`, "[Ada]"},
		{"PATCH of a value to the same", "PATCH /api/users/1", `{"room":"2"}`, "[]"},
		{"PUT", "PUT /api/users/2", `{"name":"Alan","email":"alan","city":"London"}`, "[Alan]"},
		{"PUT by email of a new user", "PUT /api/users/b@b", `{"name":"Ben"}`, "[Ben]"},
		{"PUT by email of a user who exists", "PUT /api/users/b@b", `{"name":"Bob"}`, "[Bob]"},
		{"POST", "POST /api/users", `{"name":"Cleo","email":"cleo"}`, "[Cleo]"},
		{"an import of CSV", "POST " + program.CSV + "?on_conflict=update", "name,email\nAlan,alan\nC,cleo\nDora,dora\n", "[C Dora]"},
	} {
		age(t, p)
		if answer := p.Ask(t, test.write, test.body); !strings.HasPrefix(test.write, "POST") {
			id := answer.User(t).ID
			program.Expect(t, test.name+" is answered with the user", answer.Body, p.Do(t, "GET", fmt.Sprint("/api/users/", id), "").Body)
			program.ExpectHeader(t, answer, "ETag", program.ETag(t, p, id))
		}
		program.Expect(t, "after "+test.name+", who was changed", changed(t, p.Do(t, "GET", "/api/users", "")), test.want)
	}
}

func TestUpdatedAtIsOnlyRead(t *testing.T) {
	t.Parallel()
	p := serveTimes(t)
	const fixed = `400 {"error":"id, created_at and updated_at cannot be changed"}`
	read := p.Do(t, "GET", "/api/users/1", "")
	expect(t, p, exchange{"it stands in the order of the setting", "GET /api/users/1", "",
		`200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":"1","updated_at":"T","city":null}`},
		exchange{"what was read may be sent back", "PUT /api/users/1", read.Body, "200 " + times.ReplaceAllString(read.Body, "T")},
		exchange{"another time is refused", "PATCH /api/users/1", `{"updated_at":"2020-01-02 03:04:06"}`, fixed},
		exchange{"and a number", "PUT /api/users/1", `{"name":"A","email":"a","updated_at":2020}`, fixed},
		exchange{"of a user who is created, any", "PUT /api/users/n@n", `{"name":"N","updated_at":"2020-01-02 03:04:05"}`, fixed},
		exchange{"a filter for one value there is not", "GET /api/users?updated_at=2020-01-02", "",
			`400 {"error":"Unknown parameter \"updated_at\": a list takes id…city!, q, created_from, created_to, updated_from, updated_to, sort, …"}`},
		exchange{"a search does not look at it", "GET /api/users?q=2020", "", "200 []"},
	)
}

func TestUsersAreFoundAndSortedByUpdatedAt(t *testing.T) {
	t.Parallel()
	p := serveTimes(t)
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("INSERT INTO users (name, email) VALUES ('Ben', 'ben'), ('Cleo', 'cleo')",
		"UPDATE users SET updated_at = '2020-01-01 00:00:00+00:00' WHERE name = 'Ben'",
		"UPDATE users SET updated_at = NULL WHERE name = 'Cleo'")
	for query, want := range map[string]string{
		"updated_from=2020-01-02": "[Ada Alan]",
		"updated_from=2020-01-02T03:04:05Z&updated_to=2020-01-02%2003:04:06": "[Ada Alan]",
		"updated_to=2020-01-02":              "[Ben]",
		"sort=updated_at&limit=4&order=desc": "[Alan Ada Ben Cleo]",
		"updated_from=2019-01-01&q=a&name!=Ada&sort=updated_at&limit=1&count=true": "[Alan]",
	} {
		var names []string
		for _, user := range p.Do(t, "GET", "/api/users?"+query, "").Users(t) {
			names = append(names, user.Name)
		}
		program.Expect(t, "by "+query, names, want)
	}
	var walked []string
	for next := "?sort=updated_at&limit=1"; next != ""; {
		page := p.Do(t, "GET", "/api/users"+next, "")
		walked, next = append(walked, page.Users(t)[0].Name), page.Next()
	}
	program.Expect(t, "page by page", walked, "[Cleo Ben Ada Alan]")
	expect(t, p, exchange{"no value is an empty text", "GET /api/users?name=Cleo", "", `200 [{…"updated_at":"","city":null}]`})
	without := program.Serve(t)
	expect(t, without, exchange{"without the field", "GET /api/users?updated_from=2020-01-01", "",
		`400 {"error":"Unknown parameter \"updated_from\": …"}`},
		exchange{"nor is it a field of a body", "PATCH /api/users/1", `{"updated_at":""}`, `400 {"error":"Unknown key \"updated_at\": …"}`})
}

func TestFilesHaveUpdatedAtAndDoNotSetIt(t *testing.T) {
	t.Parallel()
	p := serveTimes(t)
	const csv = "id,name,email,created_at…,room,updated_at,city\r\n1,Ada,ada,T…,1,T,\r\n2,Alan,alan,T…,,T,\r\n"
	expect(t, p, exchange{"CSV", "GET /api/users.csv", "", "200 " + csv},
		exchange{"a spreadsheet keeps a time", "GET /api/users.csv?spreadsheet=true&updated_to=2021-01-01", "",
			"200 \xef\xbb\xbf" + csv},
		exchange{"NDJSON", "GET /api/users.ndjson?updated_from=2020-01-01&id=1", "",
			`200 {"id":1,"name":"Ada","email":"ada","created_at":"T","room":"1","updated_at":"T","city":null}` + "\n"})
	file := strings.ReplaceAll(p.Do(t, "GET", "/api/users.csv", "").Body, longAgo, "2000-01-01 00:00:00")
	want := `{"created":0,"updated":1,"skipped":1,"deleted":0,"ignored_columns":["id","created_at","updated_at"]}`
	p.Do(t, "POST", program.CSV+"?on_conflict=update", strings.Replace(file, ",Ada,", ",Augusta,", 1)).Expect(t, 200, want)
	program.Expect(t, "whom the import has changed", changed(t, p.Do(t, "GET", "/api/users", "")), "[Augusta]")
	p.Do(t, "POST", program.NDJSON+"?on_conflict=update", `{"name":"Alan","email":"alan","updated_at":"2000-01-01"}`).
		Expect(t, 200, `{"created":0,"updated":0,"skipped":1,"deleted":0,"ignored_columns":["updated_at"]}`)
}
