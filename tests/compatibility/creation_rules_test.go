package compatibility

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A tableRule is a rule that another program's table may have, and what the error says that it makes of a write.
type tableRule struct {
	name, says string
	rules      []string
}

// It leaves no trace. An import stores nothing then, and names the line.
func TestARowThatTheTableRefusesFailsAlone(t *testing.T) {
	t.Parallel()
	for _, rule := range tableRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			other := program.OpenOther(t, p.DatabasePath())
			other.Do(append([]string{"CREATE TABLE trace (what text)"}, rule.rules...)...)
			before := len(p.List(t))
			answers := program.AtOnce(t, p, other, 20, func(i int) (string, string) {
				name := map[bool]string{true: "bad", false: fmt.Sprint("n", i)}[i == 7 || i == 13]
				return "POST /api/users", program.Body(name, fmt.Sprintf("%d@example.org", i))
			})
			if program.Count(answers, 201) != 18 || answers[7].Status != 500 || !program.Matches(answers[13].Body, rule.error()) {
				t.Errorf("%d were created, and the bad ones were answered %v", program.Count(answers, 201), answers[13])
			}
			program.ExpectStored(t, p, answers, before)
			imported := p.Do(t, "POST", program.CSV, "name,email\nn7,imported\nbad,b\nn13,also\n")
			if imported.Status != 422 || !strings.Contains(imported.Body, `"line":3`) {
				t.Errorf("an import is answered %d %s", imported.Status, imported.Body)
			}
			program.ExpectStored(t, p, answers, before)
			if traces := other.Ask("SELECT count(*) FROM trace"); traces != "0" {
				t.Errorf("refused writes have left %s traces in another table", traces)
			}
		})
	}
}

// error is the body of the answer to a write that the rule refuses.
func (r tableRule) error() string { return program.ErrorBody("…" + r.says + "…") }
