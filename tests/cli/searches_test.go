package cli

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"users-api/tests/program"
)

const (
	indexing     = "creating an index for searches, and what keeps it up to date, on users in …"
	indexed      = "done: searches use it from now on, without a restart"
	dropping     = "removing the index for searches, and what keeps it up to date, from users in …"
	droppedIndex = "done: searches look at every user again"
)

// searched are answers to searches, each with its headers that a client sees.
func searched(t *testing.T, p *program.Program) (answers string) {
	t.Helper()
	for _, query := range []string{"q=example", "q=EXAMPLE&limit=2&count=true", "q=lovelace", "q=a%25", "q=_dd", "q=Å@e", "q=å@e", "q=xy",
		"q=example&order=desc&limit=1&after=3", "q=nobody&count=true", "q=alan&email=alan@example.org", "q=%00abc", "q=%22a%22"} {
		for _, path := range []string{"/api/users?", "/api/users.csv?", "/api/users.ndjson?"} {
			answer := p.Do(t, "GET", path+query, "")
			answers += fmt.Sprintln(path+query, answer.Status, answer.Header.Get("X-Total-Count"), answer.Header.Get("Link"), answer.Body)
		}
	}
	return answers
}

// The command may run beside the service, twice, and while it writes. Every answer is as before.
func TestSearchesAreAnsweredTheSameWithAnIndexAndWithout(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for _, user := range [][2]string{{"Ada Lovelace", "ada@example.org"}, {"Alan", "alan@example.org"}, {"100% \"a\"", "a_dd@example.org"},
		{"Ångström", "Å@example.org"}, {"ångström", "å@example.org"}} {
		p.Create(t, user[0], user[1])
	}
	before := searched(t, p)
	for _, step := range []struct {
		arguments  []string
		will, done string
	}{
		{[]string{"index-search", "--drop"}, dropping, droppedIndex}, {[]string{"index-search"}, indexing, indexed},
		{[]string{"index-search"}, indexing, indexed}, {[]string{"index-search", "--drop"}, dropping, droppedIndex},
		{[]string{"index-search"}, indexing, indexed},
	} {
		expectDone(t, p.Run(t, step.arguments...), step.will, step.done)
		program.Expect(t, fmt.Sprintf("after %v, the answers to searches", step.arguments), searched(t, p), before)
	}
	p.Create(t, "Grace", "grace@navy.example")
	program.OpenOther(t, p.DatabasePath()).Do("INSERT INTO users (name, email) VALUES ('Barbara', 'liskov@mit.example')")
	p.Do(t, "GET", "/api/users?q=GRACE", "").Expect(t, 200, `[{"id":6,"name":"Grace",…}]`)
	p.Do(t, "GET", "/api/users?q=liskov", "").Expect(t, 200, `[{"id":7,"name":"Barbara",…,"created_at":"20…"}]`)
}

// A command that is killed leaves nothing that a search or a write notices, and the next one makes the index.
func TestAnIndexIsMadeAgainAfterItsCommandWasKilled(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(20_000)
	expect := func(query string, want int) {
		t.Helper()
		if answer := p.Do(t, "GET", "/api/users?q="+query, ""); len(answer.Users(t)) != want {
			t.Errorf("%s is answered %s, want %d users", query, answer.Body, want)
		}
	}
	for i := range 5 {
		killed := exec.Command(program.Path(), "index-search")
		killed.Env = append(program.EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir)
		says, err := killed.StderrPipe()
		program.Must(t, errors.Join(err, killed.Start()))
		_, err = says.Read(make([]byte, 1)) // what it is going to do
		program.Must(t, err)
		kill := time.AfterFunc(time.Duration(30*i)*time.Millisecond, func() { _ = killed.Process.Kill() })
		p.Create(t, "beside", fmt.Sprint("beside", i))
		_ = killed.Wait()
		kill.Stop()
		expect("user19999@", 1)
		expect("beside", i+1)
	}
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	p.Create(t, "beside", "after")
	expect("beside", 6)
}

// Another program's may have a name of the command's own, or one that begins like it.
func TestWhatIsAnotherProgramsStaysWhenTheIndexIsDropped(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	other := program.OpenOther(t, p.DatabasePath())
	foreign, named := []string{
		"CREATE TABLE users_search_log (id)", "CREATE TABLE users_search_written (id INTEGER PRIMARY KEY, at TEXT)",
		"CREATE TRIGGER users_search_deleted AFTER DELETE ON users BEGIN INSERT INTO users_search_log VALUES (old.id); END",
		"CREATE TRIGGER users_changes_deleted AFTER DELETE ON users BEGIN INSERT INTO users_search_log VALUES (old.id); END",
	}, "SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_schema WHERE name LIKE 'users_%' ORDER BY 1)"
	if program.PostgreSQL {
		foreign, named = []string{
			"CREATE EXTENSION IF NOT EXISTS pg_trgm", "CREATE INDEX users_search_lower ON users (lower(name))",
			"CREATE INDEX users_search_all ON users USING gin (lower(name || email) gin_trgm_ops)",
			"CREATE INDEX users_search_created_at ON users (created_at)",
		}, "SELECT string_agg(indexname, ',' ORDER BY 1) FROM pg_indexes WHERE tablename = 'users'"
	}
	made := other.Ask(named)
	expectDone(t, p.Run(t, "index-search"), indexing, indexed)
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	program.Expect(t, "what is there without the index", other.Ask(named), made)
	other.Do(foreign...)
	made = other.Ask(named)
	expectDone(t, p.Run(t, "index-search", "--drop"), dropping, droppedIndex)
	p.Run(t, "changes", "off").MustSucceed(t)
	program.Expect(t, "what another program has made", other.Ask(named), made)
}
