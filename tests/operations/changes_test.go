package operations

import (
	"strings"
	"testing"
	"time"

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
		{"on after off", "on", creating, recorded, 200},
	} {
		done := p.Run(t, "changes", step.argument)
		if done.Code != 0 || done.Stdout != "" || !strings.HasPrefix(done.Stderr, step.first) || !strings.HasSuffix(done.Stderr, step.last) {
			t.Errorf("%s: it ends with %d and says %q and %q", step.name, done.Code, done.Stdout, done.Stderr)
		}
		program.WaitFor(t, step.name, func() bool { return p.Do(t, "GET", "/api/changes", "").Status == step.status })
		p.Create(t, "Ada", step.name)
	}
}

func TestASecondOnKeepsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	p.Create(t, "Ada", "a@b")
	recorded := func() string { return p.Do(t, "GET", "/api/changes", "").Body }
	program.WaitFor(t, "the change is recorded", func() bool { return strings.Contains(recorded(), `"op":"created"`) })
	before := recorded()
	p.RecordChanges(t)
	if after := recorded(); after != before {
		t.Errorf("the feed was %s and is %s", before, after)
	}
}

func TestChangesCannotBeRecordedBeforeThereIsATable(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	settings := append(program.EngineSettings(t, directory), "DATA_DIR="+directory)
	done := program.RunWith(t, settings, nil, "changes", "on")
	if done.Code != 1 || !strings.Contains(done.Stderr, "\nusers-api: ") || !strings.Contains(done.Stderr, "start the service") {
		t.Errorf("it ends with %d and says %q", done.Code, done.Stderr)
	}
}

// Entries that are older than CHANGES_KEEP are deleted when the service starts, and once a minute: from the oldest on, up to
// the first that is not old, whatever the clock did meanwhile.
func TestOldChangesAreDeleted(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for _, email := range []string{"a", "b", "c", "d", "e"} {
		p.Create(t, "Ada", email)
	}
	old := "1000 * strftime('%s', '2020-01-01')"
	if program.PostgreSQL {
		old = "'2020-01-01'"
	}
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users_changes SET at = " + old + " WHERE id IN (1, 2, 4) OR op = 'begin'")
	p.Stop(t)
	p = program.Serve(t, "DATA_DIR="+p.DataDir, "CHANGES_KEEP=24h")
	body := func() string { return p.Do(t, "GET", "/api/changes", "").Body }
	program.WaitFor(t, "the old entries are deleted", func() bool { return !strings.Contains(body(), `"id":2,`) })
	for _, kept := range []string{`"id":3,`, `"id":4,`, `"id":5,`} {
		if !strings.Contains(body(), kept) {
			t.Errorf("%s is not in %s", kept, body())
		}
	}
}

func TestMetricsSayHowFarTheFeedGoesBack(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t, "ADMIN_PORT=0")
	p.Create(t, "Ada", "a")
	p.Create(t, "Alan", "b")
	if program.PostgreSQL {
		program.OpenOther(t, p.DatabasePath()).Do("ANALYZE users_changes")
	}
	figures := program.Scrape(t, p)
	if n := figures["users_api_changes_entries"][""]; n < 2 || n > 3 {
		t.Errorf("the feed has %v entries", n)
	}
	oldest := figures["users_api_changes_oldest_timestamp_seconds"][""]
	if age := time.Since(time.Unix(int64(oldest), 0)); age < 0 || age > time.Hour {
		t.Errorf("the oldest entry is %s old", age)
	}
}

// Neither command changes a user. A follower goes on, or is told to export again; what is written later is recorded.
func TestFollowersAreToldWhenACommandThatChangesTheTableEndsTheFeed(t *testing.T) {
	t.Parallel()
	p := program.ServeFeed(t)
	for _, test := range []struct {
		command    []string
		onPostgres int
	}{
		{[]string{"ignore-email-case"}, 200},
		{[]string{"add-field", "phone"}, 410},
	} {
		p.Create(t, "before", "before "+test.command[0])
		cursor := cursorAfter(t, p, "before "+test.command[0])
		if done := p.Run(t, test.command...); done.Code != 0 {
			t.Fatal(done)
		}
		want := 200
		if program.PostgreSQL {
			want = test.onPostgres
		}
		answer := p.Do(t, "GET", "/api/changes?after="+cursor, "")
		if answer.Status != want || want == 200 && !strings.Contains(answer.Body, `"changes":[]`) {
			t.Errorf("after %s the feed is answered %d %s", test.command[0], answer.Status, answer.Body)
		}
		p.Create(t, "after", "after "+test.command[0])
		cursorAfter(t, p, "after "+test.command[0])
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
