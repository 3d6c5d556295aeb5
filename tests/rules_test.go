package tests

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

func TestAViewWithTriggersIsWrittenLikeATable(t *testing.T) {
	t.Parallel()
	p, other := serveFile(t, peopleView...)
	if id := p.Create(t, "Alan", "alan@example.org"); id != 42 {
		t.Errorf("the new user is answered with the id %d", id)
	}
	if name := other.Ask("SELECT name FROM people WHERE no = 42"); name != "Alan" {
		t.Errorf("42 is %s", name)
	}
	p.Delete(t, 41)
	if users := p.List(t); len(users) != 1 || users[0].ID != 42 {
		t.Errorf("the users are %v", users)
	}
	if answer := p.Do(t, "DELETE", "/api/users/41", ""); answer.Status != 404 {
		t.Errorf("deleting nobody is answered %d %s", answer.Status, answer.Body)
	}
	duplicate := p.Do(t, "POST", "/api/users", program.Body("Other", "alan@example.org"))
	if duplicate.Status != 500 || !matches(duplicate.Body, duplicateMail) {
		t.Errorf("a duplicate is answered %d %s", duplicate.Status, duplicate.Body)
	}
}

func TestWhatAViewIgnoresIsNotAnsweredAsDone(t *testing.T) {
	t.Parallel()
	p, _ := serveFile(t, append(peopleView,
		"INSERT INTO people (no, name, mail) VALUES (50, 'stays', 'stays@example.org')")...)
	before := p.Do(t, "GET", "/api/users", "").Body
	for _, answer := range []program.Answer{
		p.Do(t, "POST", "/api/users", program.Body("ignored", "ignored@example.org")),
		p.Do(t, "DELETE", "/api/users/50", ""),
	} {
		if answer.Status != 500 || !matches(answer.Body, `{"error":"…"}`) {
			t.Errorf("answered %d %s", answer.Status, answer.Body)
		}
	}
	if after := p.Do(t, "GET", "/api/users", "").Body; after != before {
		t.Errorf("the users were %s and are %s", before, after)
	}
}

func TestAnIDThatAnotherProgramsTriggerWritesElsewhereIsNotTheUsers(t *testing.T) {
	t.Parallel()
	p, _ := serveFile(t, auditedUsers...)
	for i := range 3 {
		if id := p.Create(t, "n", fmt.Sprint(i)); id != int64(i+1) {
			t.Errorf("user %d is answered with the id %d", i+1, id)
		}
	}
}

func TestADeletionThatTheTableRefusesIsA500AndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, rule := range deleteRules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.Create(t, "Ada", "ada@example.org")
			second := p.Create(t, "Alan", "alan@example.org")
			program.OpenOther(t, p.DatabasePath()).Do(rule.rules...)
			answer := p.Do(t, "DELETE", "/api/users/1", "")
			if answer.Status != 500 || !matches(answer.Body, rule.error()) {
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
	p := start(t)
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
