// Package fields proves what users have besides a name and an email: the fields that USER_FIELDS adds wherever a user is
// shown or stored, and the field that CONTRIBUTING.md adds to the program.
package fields

import (
	"fmt"
	"regexp"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

// exchange is a request, such as "GET /api/users", with its body, and the answer to it: the status and the body, with
// each time as T, and "…" for any text.
type exchange struct{ name, request, body, want string }

// expect sends requests one after the other.
func expect(t *testing.T, p *program.Program, exchanges ...exchange) {
	t.Helper()
	for _, e := range exchanges {
		answer := p.Ask(t, e.request, e.body)
		got := fmt.Sprint(answer.Status, " ", times.ReplaceAllString(answer.Body, "T"))
		program.Expect(t, e.name+": the answer to "+e.request, got, e.want)
	}
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
