package cli

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// The command says what it will do before it does it, and what comes next. It may run beside the service, and twice.
func TestChangesAreRecordedAndForgottenBesideTheService(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	const (
		creating = "creating the table users_changes, and triggers that record in it what is written, for users in "
		recorded = "\nchanges are recorded: GET /api/changes has them\n"
		removing = "removing the table users_changes, and the triggers that fill it, for users in "
		removed  = "\nchanges are no longer recorded\n"
	)
	for _, step := range []struct {
		name, argument, first, last string
		status                      int
	}{
		{"off, when changes are not recorded", "off", removing, removed, 404},
		{"on", "on", creating, recorded, 200},
		{"on again", "on", creating, recorded, 200},
		{"off", "off", removing, removed, 404},
	} {
		done := p.Run(t, "changes", step.argument)
		program.Expect(t, step.name, done, program.Outcome{Stderr: step.first + "…" + step.last})
		program.WaitFor(t, step.name, func() bool { return p.Do(t, "GET", "/api/changes", "").Status == step.status })
		for _, path := range []string{"/api/users", "/api/users?limit=1", program.CSV} {
			if cursor := p.Do(t, "GET", path, "").Header.Get("Changes-Cursor"); (cursor != "") != (step.status == 200) {
				t.Errorf("%s: %s has the cursor %q", step.name, path, cursor)
			}
		}
		p.Create(t, "Ada", step.name)
	}
}

// Entries that are older than CHANGES_KEEP are deleted when the service starts, and once a minute: from the oldest on, up to
// the first that is not old, whatever the clock did meanwhile. One that was written while the clock was ahead keeps none.
func TestOldChangesAreDeleted(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for _, email := range []string{"a", "b", "c", "d", "e"} {
		p.Create(t, "Ada", email)
	}
	cursor := cursorAfter(t, p, `"e"`)
	begin := p.Do(t, "GET", "/api/changes?limit=1", "").Body
	other := program.OpenOther(t, p.DatabasePath())
	old, ahead := "1000 * strftime('%s', '2020-01-01')", "1000 * strftime('%s', 'now', '+1 day')"
	if program.PostgreSQL {
		old, ahead = "'2020-01-01'", "now() + '1 day'"
		other.Do("SET users_api.prunes = on") // otherwise no other program may change entries
	}
	other.Do("UPDATE users_changes SET at = "+old+" WHERE id IN (2, 4) OR op = 'begin'",
		"UPDATE users_changes SET at = "+ahead+" WHERE id = 1")
	p.Stop(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir, "CHANGES_KEEP=24h")
	var body string
	program.WaitFor(t, "the old entries are deleted, and the last one is there", func() bool { // other tests may hold it back
		body = p.Do(t, "GET", "/api/changes", "").Body
		return !strings.Contains(body, `"id":2,`) && strings.Contains(body, `"id":5,`)
	})
	program.Expect(t, "the feed", body, `…"id":3,…"id":4,…`)
	begin = strings.TrimSuffix(begin[strings.LastIndex(begin, `:"`)+2:], `"}`)
	p.Do(t, "GET", "/api/changes?after="+begin, "").Expect(t, 410, "…") // what followed is gone
	p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, 200, `{"changes":[],…`)
}

// A command that changes no user leaves the feed as it is. What ends it is off and on again: then followers are told to export.
func TestFollowersGoOnUntilTheFeedIsMadeAnew(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for _, test := range []struct {
		commands [][]string
		status   int
		body     string
	}{
		{[][]string{{"changes", "on"}}, 200, `{"changes":[],…`}, // a second time
		{[][]string{{"ignore-email-case"}}, 200, `{"changes":[],…`},
		{[][]string{{"add-field", "room"}}, 200, `{"changes":[],…`},
		{[][]string{{"changes", "off"}, {"changes", "on"}}, 410, `{"error":"…export all users again…"}`},
	} {
		email := fmt.Sprint("before ", test.commands)
		p.Create(t, "before", email)
		cursor := cursorAfter(t, p, email)
		for _, command := range test.commands {
			p.Run(t, command...).MustSucceed(t)
		}
		p.Do(t, "GET", "/api/changes?after="+cursor, "").Expect(t, test.status, test.body)
		email = fmt.Sprint("after ", test.commands)
		p.Create(t, "after", email)
		cursorAfter(t, p, email)
	}
}

// cursorAfter returns where the feed ends once it has a user with an email.
func cursorAfter(t *testing.T, p *program.Program, email string) (cursor string) {
	t.Helper()
	program.WaitFor(t, email+" is in the feed", func() bool {
		answer := p.Do(t, "GET", "/api/changes", "")
		_, cursor, _ = strings.Cut(answer.Body, `"next":"`)
		cursor, _, _ = strings.Cut(cursor, `"`)
		return strings.Contains(answer.Body, email)
	})
	return cursor
}
