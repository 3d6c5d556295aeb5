package linearizability

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"users-api/tests/program"
)

// An Action is what a request asks for.
type Action string

// What requests ask for. Settled is the list at the end of a history, when no request is under way any more.
const (
	Create  Action = "create"
	Get     Action = "get"
	List    Action = "list"
	Change  Action = "change"
	Remove  Action = "remove"
	Import  Action = "import"
	Settled Action = "settled"
)

// A Request is what one client asks for. Each action uses the fields that it needs.
type Request struct {
	Action      Action
	ID          int64
	Name, Email string         // of a creation; of a change, an empty email leaves it alone; of a list, only who has this email
	Match       Match          // of a change or a removal
	Limit       int            // of a list, if it is not zero
	Rows        []program.User // names and emails of an import
	OnConflict  string
}

// A Match is the condition of a change or a removal.
type Match struct {
	Tag  string       // of If-Match; empty: there is no condition
	User program.User // whose ETag it is
}

// writes reports whether a request may change anything.
func (q Request) writes() bool {
	switch q.Action {
	case Create, Change, Remove, Import:
		return true
	}
	return false
}

// send sends a request to a program.
func (q Request) send(p *program.Program) (program.Answer, error) {
	method, path, body := q.line()
	header := []string{"Accept: application/problem+json, application/json"}
	if q.Match.Tag != "" {
		header = append(header, "If-Match: "+q.Match.Tag)
	}
	return p.At(p.URL).Send(method, path, body, header...) // not compared with the document thousands of times
}

func (q Request) line() (method, path, body string) {
	path = fmt.Sprint("/api/users/", q.ID)
	switch q.Action {
	case Create:
		return http.MethodPost, "/api/users", program.Body(q.Name, q.Email)
	case Get:
		return http.MethodGet, path, ""
	case Change:
		if q.Email == "" {
			return http.MethodPatch, path, fmt.Sprintf(`{"name":%q}`, q.Name)
		}
		return http.MethodPatch, path, program.Body(q.Name, q.Email)
	case Remove:
		return http.MethodDelete, path, ""
	case Import:
		for _, row := range q.Rows {
			body += program.Body(row.Name, row.Email) + "\n"
		}
		return http.MethodPost, program.NDJSON + "?on_conflict=" + q.OnConflict, body
	}
	return http.MethodGet, strings.TrimSuffix("/api/users?"+q.query(), "?"), ""
}

// query is that of a list, and empty for the list of all users.
func (q Request) query() string {
	switch {
	case q.Email != "":
		return "email=" + q.Email
	case q.Limit > 0:
		return fmt.Sprint("limit=", q.Limit)
	}
	return ""
}

// String describes a request in the form of a call.
func (q Request) String() string {
	method, path, body := q.line()
	return fmt.Sprintf("%s: %s %s %s if %v", q.Action, method, path, strings.ReplaceAll(body, "\n", " "), q.Match)
}

// An Answer is what a request was answered. Code is empty if what it asked for was done.
type Answer struct {
	Code  string // of the problem: one of those below, or of docs/errors.md
	Users []program.User
	More  bool // others follow those of a page
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
)

// imported is how an import is answered.
type imported struct{ Created, Updated, Skipped, Deleted int }

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
	default:
		answer.Users, err = got.ParseUsers()
		answer.More = strings.Contains(got.Header.Get("Link"), `rel="next"`)
	}
	return answer, err
}

// refusal reads a problem. A 5xx certainly had no effect, unless it says that this is not known.
func (q Request) refusal(got program.Answer) (answer Answer, err error) {
	err = json.Unmarshal([]byte(got.Body), &answer)
	switch answer.Code {
	case emailUsed, notFound, changed, rowsRefused:
	case "outcome_unknown":
		answer.Code = unknown
	case "storage_failed", "no_room", "too_many_imports", "too_many_bodies":
		answer.Code = nothing
	default:
		err = fmt.Errorf("answered %d %.300s", got.Status, got.Body)
	}
	return answer, err
}
