package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// FuzzChange sends any bytes as the body of a PATCH and of a PUT. No body may cause a 500, the answer is the user as it
// is stored, and a refusal changes nothing.
func FuzzChange(f *testing.F) {
	for _, s := range changes {
		if len(s.body) < 1000 {
			f.Add([]byte(s.body))
		}
	}
	p := program.Serve(f)
	p.Create(f, "Alan", "alan@example.org")
	f.Fuzz(func(t *testing.T, body []byte) {
		path := fmt.Sprint("/api/users/", p.Create(t, "Ada", "ada@example.org"))
		for _, method := range []string{"PATCH", "PUT"} {
			before := p.Do(t, "GET", path, "")
			answer := p.Do(t, method, path, string(body))
			after := p.Do(t, "GET", path, "")
			switch answer.Status {
			case 200:
				user := answer.User(t)
				kept := user.Name != "" && user.Email != "" && user.CreatedAt == before.User(t).CreatedAt
				if answer.Body != after.Body || !kept {
					t.Errorf("%s of %q is answered %s and stored as %s", method, body, answer.Body, after.Body)
				}
			case 500:
				answer.Expect(t, nulStored.status, nulStored.answer)
			case 400, 409, 413:
				if before.Body != after.Body {
					t.Errorf("%s of %q was refused, and made %s of %s", method, body, after.Body, before.Body)
				}
				program.Forbid(t, answer.Body, "json:", "EOF", "models.", "unmarshal")
			default:
				t.Errorf("%s of %q is answered %d %s", method, body, answer.Status, answer.Body)
			}
		}
		p.Do(t, "DELETE", path, "").Expect(t, 204, "")
	})
}

// FuzzQuery sends any query string. It is refused, or answered with users as the list shows them, each once.
func FuzzQuery(f *testing.F) {
	for _, s := range searches {
		f.Add(s.query)
	}
	for _, bad := range badQueries {
		for query := range strings.FieldsSeq(bad.queries) {
			f.Add(query)
		}
	}
	p := readable(f)
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := url.ParseRequestURI("/api/users?" + query); err != nil || strings.ContainsAny(query, "# \r\n") {
			return // no client sends it
		}
		answer := p.Do(t, "GET", "/api/users?"+query, "")
		switch answer.Status {
		case 200:
			all := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))
			users := program.RawUsers(t, answer)
			for id, user := range users {
				if all[id] != user {
					t.Errorf("?%s shows %s as %s", query, all[id], user)
				}
			}
			if len(users) != len(answer.Users(t)) {
				t.Errorf("?%s shows a user twice: %s", query, answer.Body)
			}
		case 400:
			answer.Expect(t, 400, `{"error":"…"}`)
			program.Forbid(t, answer.Body, "strconv", "url:", "invalid URL")
		default:
			t.Errorf("?%s is answered %d %s", query, answer.Status, answer.Body)
		}
	})
}
