package linearizability

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"users-api/tests/program"
)

// otherProgram is one that writes to the same database.
type otherProgram struct {
	t     *testing.T
	other *program.Other
	n     int
}

// ask does one thing at random.
func (s *otherProgram) ask(r *Recorder, random *rand.Rand) {
	s.n++
	name, email := fmt.Sprint("otherProgram-", s.n), emails[random.IntN(len(emails))]
	const returning = " RETURNING id, name, email"
	request, statement := Request{Action: List}, "SELECT id, name, email FROM users ORDER BY id"
	switch random.IntN(4) {
	case 0:
		request = Request{Action: Create, Name: name, Email: email}
		statement = fmt.Sprintf("INSERT INTO users (name, email) VALUES ('%s', '%s')", name, email) + returning
	case 1:
		request = Request{Action: Change, Name: name}
		statement = fmt.Sprintf("UPDATE users SET name = '%s' WHERE email = '%s'", name, email) + returning
	case 2:
		request = Request{Action: Remove}
		statement = fmt.Sprintf("DELETE FROM users WHERE email = '%s'", email) + returning
	}
	called := r.now()
	users, err := s.other.Users(statement)
	answer := Answer{Users: users}
	switch {
	case err != nil && strings.Contains(strings.ToLower(err.Error()), "unique"):
		answer.Code = emailUsed
	case err != nil: // nothing was done
		if !strings.Contains(err.Error(), "locked") {
			s.t.Errorf("%s: %v", statement, err)
		}
		return
	case request.Action != Change && request.Action != Remove:
	case len(users) == 0:
		request = Request{Action: List, Email: email}
	default:
		request.ID = users[0].ID
	}
	r.note(clients, request, answer, called)
}
