package tables

import (
	"testing"

	"users-api/tests/program"
)

func TestADeletionThatTheTableRefusesIsA500AndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, rule := range deleteRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := program.Serve(t)
			p.Create(t, "Ada", "ada@example.org")
			second := p.Create(t, "Alan", "alan@example.org")
			program.OpenOther(t, p.DatabasePath()).Do(rule.rules...)
			answer := p.Do(t, "DELETE", "/api/users/1", "")
			if answer.Status != 500 || !program.Matches(answer.Body, rule.error()) {
				t.Errorf("answered %d %s", answer.Status, answer.Body)
			}
			p.Delete(t, second)
			if users := p.List(t); len(users) != 1 || users[0].ID != 1 {
				t.Errorf("the users are %v", users)
			}
		})
	}
}

// What a trigger did elsewhere before it failed must be undone as well.
func TestARefusedDeletionLeavesNoTraceInOtherTables(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do(tracedDeletions...)
	if answer := p.Do(t, "DELETE", "/api/users/1", ""); answer.Status != 500 {
		t.Errorf("answered %d %s", answer.Status, answer.Body)
	}
	if traces := other.Ask("SELECT count(*) FROM trace"); traces != "0" {
		t.Errorf("%s traces are left", traces)
	}
}
