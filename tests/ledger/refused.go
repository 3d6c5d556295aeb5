package ledger

import (
	"fmt"
	"strings"

	"users-api/tests/program"
)

// refuse notes a write that is answered with an error. Unless that says that the outcome is not known, nothing of it may ever
// be shown.
func (l *Ledger) refuse(answer program.Answer, write string) {
	if strings.Contains(answer.Body, "not known") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[write] = answer.Body
}

// checkRefused reports a user who is shown as a refused write would have stored it.
func (l *Ledger) checkRefused(user program.User) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, write := range []string{user.Email, change(user.ID, user.Name)} {
		if answer, found := l.refused[write]; found {
			return fmt.Errorf("%d is shown as %s, %s, although that was refused: %s", user.ID, user.Name, user.Email, answer)
		}
	}
	return nil
}

func change(id int64, name string) string { return fmt.Sprint("change of ", id, " to ", name) }

// Refused returns how many writes were refused for certain.
func (l *Ledger) Refused() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refused)
}
