package linearizability

import (
	"cmp"
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

// Codes that mean the same for all requests, and codes of a refusal that says something of the users.
const (
	unknown = "unknown" // it may take effect until the history ends, or never
	nothing = "nothing" // it had no effect, and shows nothing

	emailUsed   = "email_used"
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
	case got.Status >= http.StatusBadRequest:
		return q.refusal(got)
	case q.Action == Remove:
		if got.Status != http.StatusNoContent {
			err = fmt.Errorf("answered %d %.200s", got.Status, got.Body)
		}
	case q.Action == Create, q.Action == Get, q.Action == Change:
		answer.Users = make([]program.User, 1)
		answer.Users[0], err = got.ParseUser()
	case q.Action == Import:
		err = json.Unmarshal([]byte(got.Body), &answer.imported)
	case q.Action == Count:
		answer.Total, err = strconv.Atoi(got.Header.Get("X-Total-Count"))
	default:
		answer.Users, err = got.ParseUsers()
		answer.More = more(got)
	}
	return answer, err
}

// more reports whether others follow those of a page.
func more(got program.Answer) bool { return strings.Contains(got.Header.Get("Link"), `rel="next"`) }

// refusal reads a problem. A 5xx certainly had no effect, unless it says that this is not known.
func (q Request) refusal(got program.Answer) (answer Answer, err error) {
	var problem struct {
		Code         string
		DeletedUsers []program.User `json:"deleted_users"`
	}
	err = json.Unmarshal([]byte(got.Body), &problem)
	answer.Code, answer.DeletedUsers = problem.Code, problem.DeletedUsers
	switch problem.Code {
	case emailUsed, notFound, changed, rowsRefused, tooMany:
	case "outcome_unknown":
		answer.Code = unknown
	case "storage_failed", "no_room", "too_many_imports", "too_many_bodies":
		answer.Code = nothing
	default:
		err = fmt.Errorf("answered %d %.300s", got.Status, got.Body)
	}
	return answer, err
}

// String describes an answer.
func (a Answer) String() string {
	text := fmt.Sprint(cmp.Or(a.Code, "done"), " ", a.Users)
	if a.More {
		text += "; more follow"
	}
	if a.Total > 0 || a.imported.Created+a.imported.Updated+a.imported.Skipped+a.imported.Deleted > 0 {
		text += fmt.Sprintf("; %d in total; %+v", a.Total, a.imported)
	}
	return text
}
