package tables

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// A tableRule is a rule that another program's table may have, and what the error says that it makes of a write.
type tableRule struct {
	name, says string
	rules      []string
}

func TestARowThatTheTableRefusesFailsAlone(t *testing.T) {
	t.Parallel()
	for _, rule := range tableRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			other := program.OpenOther(t, p.DatabasePath())
			other.Do(rule.rules...)
			before := len(p.List(t))
			answers := program.AtOnce(t, p, other, 20, func(i int) (string, string) {
				name := map[bool]string{true: "bad", false: fmt.Sprint("n", i)}[i == 7 || i == 13]
				return "POST /api/users", program.Body(name, fmt.Sprintf("%d@example.org", i))
			})
			if program.Count(answers, 201) != 18 || answers[7].Status != 500 || !program.Matches(answers[13].Body, rule.error()) {
				t.Errorf("%d were created, and the bad ones were answered %v", program.Count(answers, 201), answers[13])
			}
			program.ExpectStored(t, p, answers, before)
		})
	}
}

// error is the body of the answer to a write that the rule refuses.
func (r tableRule) error() string { return program.ErrorBody("…" + r.says + "…") }
