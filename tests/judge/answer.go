package judge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"users-api/tests/program"
)

// An Answer is what a request was answered. Code is empty if what it asked for was done.
type Answer struct {
	Code  string // of the problem: one of those below, or of docs/errors.md
	Users []program.User
	More  bool // others follow those of a page
	Total int  // of a count
	imported
}

// The codes that mean the same for all requests.
const (
	unknown = "unknown" // it may take effect until the history ends, or never
	nothing = "nothing" // it had no effect, and shows nothing
)

// The codes of a refusal that says something of the users.
const (
	EmailUsed   = "email_used"
	notFound    = "user_not_found"
	changed     = "changed_meanwhile"
	rowsRefused = "rows_refused"
	tooMany     = "too_many_deletions"
)

// imported is how an import is answered.
type imported struct {
	Created, Updated, Skipped, Deleted int
	DeletedUsers                       []program.User `json:"deleted_users"`
	IgnoredColumns                     []string       `json:"ignored_columns"`
}

// read returns what an answer means. An error is an answer that no request may get.
func (q Request) read(got program.Answer) (answer Answer, err error) {
	switch {
	case got.Status == http.StatusNoContent:
		return answer, nil
	case got.Status >= http.StatusBadRequest:
		return q.refusal(got)
	}
	switch q.Action {
	case Create, Get, Change:
		user, err := got.ParseUser()
		return Answer{Users: []program.User{user}}, err
	case Import:
		return answer, json.Unmarshal([]byte(got.Body), &answer.imported)
	case Count:
		answer.Total, err = strconv.Atoi(got.Header.Get("X-Total-Count"))
		return answer, err
	}
	answer.Users, err = got.ParseUsers()
	answer.More = more(got)
	return answer, err
}

// more reports whether others follow those of a page.
func more(got program.Answer) bool { return strings.Contains(got.Header.Get("Link"), `rel="next"`) }

// refusal reads a problem. A 5xx certainly had no effect, unless it says that this is not known.
func (q Request) refusal(got program.Answer) (answer Answer, err error) {
	var problem struct {
		Code, Detail string
		DeletedUsers []program.User `json:"deleted_users"`
	}
	if err := json.Unmarshal([]byte(got.Body), &problem); err != nil {
		return answer, fmt.Errorf("answered %d %.200s: %w", got.Status, got.Body, err)
	}
	answer.Code, answer.DeletedUsers = problem.Code, problem.DeletedUsers
	switch problem.Code {
	case EmailUsed, notFound, changed, rowsRefused, tooMany:
		return answer, nil
	case "outcome_unknown":
		answer.Code = unknown
		return answer, nil
	case "storage_failed", "no_room", "too_many_imports", "too_many_bodies":
		answer.Code = nothing
		if strings.Contains(problem.Detail, "is not known") {
			answer.Code = unknown
		}
		return answer, nil
	}
	return answer, fmt.Errorf("answered %d %.300s", got.Status, got.Body)
}

// String describes an answer.
func (a Answer) String() string {
	if a.Code != "" {
		return a.Code
	}
	text := "done"
	for i, user := range a.Users {
		if i == 0 {
			text = ""
		}
		text += fmt.Sprintf("%d %q <%s> %s; ", user.ID, user.Name, user.Email, user.CreatedAt)
	}
	if a.More {
		text += "more follow "
	}
	if a.Total > 0 {
		text += fmt.Sprintf("%d in total ", a.Total)
	}
	if n := a.imported; n.Created+n.Updated+n.Skipped+n.Deleted > 0 {
		text += fmt.Sprintf(": %d created, %d updated, %d skipped, %d deleted %v",
			n.Created, n.Updated, n.Skipped, n.Deleted, n.DeletedUsers)
	}
	return text
}
