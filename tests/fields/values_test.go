package fields

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// values are texts that are hard to store, or to write into a file.
var values = map[string]string{
	"quotes":               `"double", 'single' and ''two''`,
	"lines":                "one\ntwo\r\nthree\rfour\n",
	"a backslash":          `\ \\ \n \u0000 \N`,
	"SQL":                  `'); DROP TABLE users; --`,
	"the word null":        "null",
	"spaces around":        "  a  ",
	"control characters":   "\x01\x1e\x1f\x7f",
	"HTML":                 "<b>&amp;</b>",
	"letters of all kinds": "Ærø Łódź 東京 🦊 \u2028 \u202e \ufeff",
	"a NUL":                "a\x00b",
	"a megabyte":           strings.Repeat("0123456789abcdef", 1<<16-8),
}

func TestAValueComesBackAsItWasSent(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room")
	for name, value := range values {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(value)
			program.Must(t, err)
			email := url.QueryEscape(name)
			created := p.Do(t, "POST", "/api/users", fmt.Sprintf(`{"name":"n","email":%q,"room":%s}`, email, text))
			if program.PostgreSQL && strings.Contains(value, "\x00") {
				created.Expect(t, 500, "…SQLSTATE 22021…")
				return
			}
			user := fmt.Sprint("/api/users/", expectRoom(t, "the creation", created, value))
			before := p.Do(t, "GET", user, "")
			expectRoom(t, "a change", p.Do(t, "PATCH", user, fmt.Sprintf(`{"room":%s}`, text)), value)
			expectFilesHave(t, p, user, email, before.Body)
			if len(value) > 1000 {
				return // too long for the parameter q
			}
			for _, query := range []string{"room=", "q="} {
				found := p.Do(t, "GET", "/api/users?limit=1000&"+query+url.QueryEscape(value), "")
				if !strings.Contains(found.Body, before.Body) {
					t.Errorf("%s finds %s", query, found.Body)
				}
			}
		})
	}
}

// expectFilesHave exports a user, clears the field, and imports the file: then the user is as before.
func expectFilesHave(t *testing.T, p *program.Program, user, email, before string) {
	t.Helper()
	for _, file := range []string{program.CSV, program.NDJSON} {
		exported := p.Do(t, "GET", file+"?email="+url.QueryEscape(email), "").Body
		if cleared := p.Do(t, "PATCH", user, `{"room":null}`); cleared.Body == before {
			t.Fatalf("it is not cleared: %d %.300s", cleared.Status, cleared.Body)
		}
		imported := p.Do(t, "POST", file+"?on_conflict=update", exported)
		if after := p.Do(t, "GET", user, ""); after.Body != before {
			t.Errorf("after %s, answered %.300s, the user is %.300s", file, imported.Body, after.Body)
		}
	}
}

// expectRoom returns the id of the user in an answer.
func expectRoom(t *testing.T, what string, answer program.Answer, want string) (id int) {
	t.Helper()
	var user struct {
		ID   int
		Room *string
	}
	if err := json.Unmarshal([]byte(answer.Body), &user); err != nil || user.Room == nil || *user.Room != want {
		t.Errorf("%s: %d %.300s, %v", what, answer.Status, answer.Body, err)
	}
	return user.ID
}
