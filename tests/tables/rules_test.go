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
			p.Do(t, "DELETE", "/api/users/1", "").Expect(t, 500, rule.error())
			p.Delete(t, second)
			p.ExpectUsers(t, "Ada")
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
	p.Do(t, "DELETE", "/api/users/1", "").Expect(t, 500, "…")
	if traces := other.Ask("SELECT count(*) FROM trace"); traces != "0" {
		t.Errorf("%s traces are left", traces)
	}
}
