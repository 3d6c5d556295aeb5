package compatibility

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

// An import that a trigger ignores in part says so, and stores nothing.
func TestAnImportThatATriggerIgnoresStoresNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, name := range []string{"Ada", "Alan", "Grace"} {
		p.Create(t, name, name)
	}
	program.OpenOther(t, p.DatabasePath()).Do(ignoresWrites...)
	ignored := "not stored: a trigger of the table users ignored it"
	p.Do(t, "POST", program.CSV+"?on_conflict=update", "name,email\nKing,Ada\nTuring,Alan\n").Expect(t, 422,
		`{"error":"1 of 2 rows cannot be imported; nothing was stored","rows":[{"line":2,"error":"`+ignored+`"}]}`)
	p.Do(t, "POST", program.CSV+"?on_conflict=update&on_missing=delete&max_deletes=9", "name,email\nAlan,Alan\n").Expect(t, 500,
		program.ErrorBody(ignored))
	p.ExpectUsers(t, "Ada", "Alan", "Grace")
}

// What was committed is answered: the change, and not that there is no such user.
func TestAChangeAfterWhichATriggerDeletesTheUserIsAnsweredWithTheChange(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	id := p.Create(t, "Ada", "ada@example.org")
	program.OpenOther(t, p.DatabasePath()).Do(deletesWhatIsChanged)
	answer := p.Do(t, "PATCH", "/api/users/1", `{"name":"Ada King"}`)
	if user := answer.User(t); answer.Status != 200 || user.ID != id || user.Name != "Ada King" {
		t.Errorf("the change is answered %d %s", answer.Status, answer.Body)
	}
	p.ExpectUsers(t)
}
