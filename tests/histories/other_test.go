package histories

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"users-api/tests/judge"
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
func (s *shell) ask(r *judge.Recorder, random *rand.Rand) {
	s.n++
	name, email := fmt.Sprint("shell-", s.n), judge.Emails[random.IntN(len(judge.Emails))]
	what := []func(name, email string) (judge.Request, judge.Answer, error){s.create, s.change, s.remove, s.list}[random.IntN(4)]
	r.Do(clients, func() (judge.Request, judge.Answer, error) { return what(name, email) })
}

// run runs a statement and returns the users that it printed: id, name and email.
func (s *shell) run(statement string) (users []program.User, refused bool, err error) {
	arguments := shellCommand(s.t, s.p, statement)
	output, err := exec.Command(arguments[0], arguments[1:]...).CombinedOutput()
	switch text := strings.ToLower(string(output)); {
	case err != nil && strings.Contains(text, "unique"):
		return nil, true, nil
	case err != nil:
		if !strings.Contains(text, "locked") {
			s.t.Errorf("%s: %v %s", statement, err, output)
		}
		return nil, false, err
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

const returning = " RETURNING id, name, email"

func (s *shell) create(name, email string) (judge.Request, judge.Answer, error) {
	users, refused, err := s.run(fmt.Sprintf("INSERT INTO users (name, email) VALUES ('%s', '%s')", name, email) + returning)
	answer := judge.Answer{Users: users}
	if refused {
		answer.Code = judge.EmailUsed
	}
	return judge.Request{Action: judge.Create, Name: name, Email: email}, answer, err
}

func (s *shell) change(name, email string) (judge.Request, judge.Answer, error) {
	users, _, err := s.run(fmt.Sprintf("UPDATE users SET name = '%s' WHERE email = '%s'", name, email) + returning)
	if len(users) == 0 {
		return judge.Request{Action: judge.Find, Email: email}, judge.Answer{}, err
	}
	return judge.Request{Action: judge.Change, ID: users[0].ID, Name: name}, judge.Answer{Users: users}, err
}

func (s *shell) remove(_, email string) (judge.Request, judge.Answer, error) {
	users, _, err := s.run(fmt.Sprintf("DELETE FROM users WHERE email = '%s'", email) + returning)
	if len(users) == 0 {
		return judge.Request{Action: judge.Find, Email: email}, judge.Answer{}, err
	}
	return judge.Request{Action: judge.Remove, ID: users[0].ID}, judge.Answer{Users: users}, err
}

func (s *shell) list(string, string) (judge.Request, judge.Answer, error) {
	users, _, err := s.run("SELECT id, name, email FROM users ORDER BY id")
	return judge.Request{Action: judge.List}, judge.Answer{Users: users}, err
}
