package linearizability

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"users-api/tests/program"
)

// shell is another program that writes: SQLite's own shell, or psql.
type shell struct {
	t *testing.T
	p *program.Program
	n int
}

// newShell skips the test where there is no such program.
func newShell(t *testing.T, p *program.Program) *shell {
	t.Helper()
	if _, err := exec.LookPath(shellCommand(t, p, "")[0]); err != nil {
		t.Skipf("needs another program that writes: %v", err)
	}
	return &shell{t: t, p: p}
}

// ask does one thing at random.
func (s *shell) ask(r *Recorder, random *rand.Rand) {
	s.n++
	name, email := fmt.Sprint("shell-", s.n), emails[random.IntN(len(emails))]
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
	users, refused, err := s.run(statement)
	answer := Answer{Users: users}
	switch {
	case refused:
		answer.Code = emailUsed
	case err != nil:
		return // nothing was done
	case request.Action != Change && request.Action != Remove:
	case len(users) == 0:
		request = Request{Action: List, Email: email}
	default:
		request.ID = users[0].ID
	}
	r.note(clients, request, answer, called)
}

// run runs a statement and returns the users that it printed: id, name and email.
func (s *shell) run(statement string) (users []program.User, refused bool, err error) {
	arguments := shellCommand(s.t, s.p, statement)
	output, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	if text := strings.ToLower(string(output)); err != nil {
		refused = strings.Contains(text, "unique")
		if !refused && !strings.Contains(text, "locked") {
			s.t.Errorf("%s: %v %s", statement, err, output)
		}
		return nil, refused, err
	}
	for line := range strings.Lines(string(output)) {
		var user program.User
		columns := strings.Split(strings.TrimSpace(line), "|")
		if _, err := fmt.Sscan(columns[0], &user.ID); err != nil || len(columns) != 3 {
			s.t.Errorf("%s: %s", statement, output)
			return nil, false, fmt.Errorf("not a user: %s", line)
		}
		user.Name, user.Email = columns[1], columns[2]
		users = append(users, user)
	}
	return users, false, nil
}
