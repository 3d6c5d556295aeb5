package linearizability

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

// entry is one of users_changes.
type entry struct {
	Op            string
	ID            int64
	Before, After map[string]any
}

// expectRecorded fails the test unless an entry of users_changes is there exactly if its write is: what the entries of each
// user say, from the newest to the creation, leads from the user in the list back to nobody. On PostgreSQL the feed may come
// later than the list.
func expectRecorded(t *testing.T, p *program.Program) {
	t.Helper()
	differs := missed(t, p)
	for deadline := time.Now().Add(program.Patience); differs != ""; differs = missed(t, p) {
		if time.Now().After(deadline) {
			t.Fatal(differs)
		}
	}
}

// missed says what the entries and the list do not agree on, or "".
func missed(t *testing.T, p *program.Program) string {
	t.Helper()
	users := map[int64]map[string]any{} // nil is nobody
	for next := ""; ; {
		var feed struct {
			Changes []entry
			Next    string
		}
		read(t, p, "/api/changes?limit=1000"+next, &feed)
		for _, each := range feed.Changes {
			users[each.ID] = nil
		}
		if next = "&after=" + feed.Next; len(feed.Changes) == 0 {
			break
		}
	}
	for _, user := range p.List(t) {
		users[user.ID] = map[string]any{"name": user.Name, "email": user.Email}
	}
	for id, user := range users {
		path, said := fmt.Sprintf("/api/users/%d/changes?limit=1000", id), 0
		for path != "" {
			var history struct{ Changes []entry }
			answer := read(t, p, path, &history)
			for _, each := range history.Changes {
				said++
				if user == nil != (each.Op == "deleted") {
					return fmt.Sprintf("the user %d is %v after the entry %v, the newest but %d", id, user, each, said-1)
				}
				for field, value := range each.After {
					if user[field] != value {
						return fmt.Sprintf("%s of the user %d is %v after the entry %v", field, id, user[field], each)
					}
				}
				switch each.Op {
				case "created":
					user = nil
				case "deleted":
					user = map[string]any{"name": each.Before["name"], "email": each.Before["email"]}
				default:
					for field, value := range each.Before {
						user[field] = value
					}
				}
			}
			link, _, more := strings.Cut(strings.TrimPrefix(answer.Header.Get("Link"), "<"), ">")
			if path = ""; more {
				path = fmt.Sprintf("/api/users/%d/changes%s", id, link)
			}
		}
		if user != nil {
			return fmt.Sprintf("the first of %d entries of the user %d is no creation", said, id)
		}
	}
	return ""
}

func read(t *testing.T, p *program.Program, path string, into any) program.Answer {
	t.Helper()
	answer := p.Do(t, "GET", path, "")
	if answer.Status != 200 {
		t.Fatalf("%s is answered %d %s", path, answer.Status, answer.Body)
	}
	program.Must(t, json.Unmarshal([]byte(answer.Body), into))
	return answer
}
