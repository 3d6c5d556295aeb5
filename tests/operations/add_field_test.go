package operations

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// expectDone fails the test unless a command ended well and said these lines.
func expectDone(t *testing.T, done program.Outcome, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n") + "\n"; done.Code != 0 || done.Stdout != "" || !program.Matches(done.Stderr, want) {
		t.Errorf("it ended with %d, and said %q and\n%s, want\n%s", done.Code, done.Stdout, done.Stderr, want)
	}
}

const addingRoom = "adding the column room (text, may be NULL) to users in …"

func TestAFieldIsAddedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	before := p.Do(t, "GET", "/api/users", "")
	expectDone(t, p.Run(t, "add-field", "room"), addingRoom, "added: now name room in USER_FIELDS, and restart the service")
	expectColumns(t, p, "room")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before.Body)
	p.Create(t, "Alan", "alan@example.org")
	p.Stop(t)
	again := program.Serve(t, "DATA_DIR="+p.DataDir, "USER_FIELDS=room")
	const want = `[{"id":1,"name":"Ada",…,"room":null},{"id":2,"name":"Alan",…,"room":null}]`
	again.Do(t, "GET", "/api/users", "").Expect(t, 200, want)
	again.Change(t, 1, `{"room":"7"}`)
}

func TestNoRequestFailsWhileTheTableIsChangedBesideTwoProcesses(t *testing.T) {
	t.Parallel()
	one := program.Serve(t)
	two := program.Serve(t, "DATA_DIR="+one.DataDir)
	writers := program.StartWriters(4, one, two)
	for _, command := range []string{"add-field room", "add-field city", "ignore-email-case", "add-field floor"} {
		one.Run(t, strings.Fields(command)...).MustSucceed(t)
		one.List(t)
		two.List(t)
	}
	writers.StopAndExpect(t, one, two)
	for _, p := range []*program.Program{one, two} {
		program.Forbid(t, p.Log(), "level=ERROR")
	}
	expectColumns(t, one, "room,city,floor")
}

func TestAFieldIsAddedBeforeOthersOfTheSettingHaveColumns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	settings := append(program.EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir, "USER_FIELDS=room,city")
	for _, name := range []string{"room", "city", "floor"} {
		program.RunWith(t, settings, nil, "add-field", name).MustSucceed(t)
	}
	expectColumns(t, p, "room,city,floor")
}

func TestAFieldThatCannotBeAddedIsSaidOnOneLine(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room")
	p.Do(t, "POST", "/api/users", `{"name":"Secret","email":"secret","room":"secret"}`)
	again := p.Run(t, "add-field", "room")
	again.ExpectFailure(t, addingRoom, "the table users has the column room already")
	program.Forbid(t, again.Stderr, "ecret")
	expectColumns(t, p, "room")

	program.OpenOther(t, p.DatabasePath()).Do("ALTER TABLE users RENAME TO people", "CREATE VIEW users AS SELECT * FROM people")
	p.Run(t, "add-field", "city").ExpectFailure(t, strings.Replace(addingRoom, "room", "city", 1), noColumnOfAView)
}

func TestASchemaIsNotChangedBeforeThereIsATable(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "data")
	settings := append(program.EngineSettings(t, directory), "DATA_DIR="+directory)
	for _, arguments := range [][]string{{"add-field", "room"}, {"ignore-email-case"}, {"changes", "on"}} {
		done := program.RunWith(t, settings, nil, arguments...)
		says := strings.Contains(done.Stderr, noTable) || strings.Contains(done.Stderr, "start the service")
		if done.Code != 1 || !strings.Contains(done.Stderr, "users-api: ") || !says {
			t.Errorf("%v ends with %d and says %q", arguments, done.Code, done.Stderr)
		}
	}
	program.ExpectNoDirectory(t, directory)
}

func TestAFieldIsNotAddedWithAMistakeInTheSettings(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for setting, says := range map[string]string{
		"USER_FIELDS=email": `USER_FIELDS is "email"`, "PORT=abc": "PORT", badDatabase: "",
	} {
		settings := append(program.EngineSettings(t, p.DataDir, setting), "DATA_DIR="+p.DataDir, setting)
		done := program.RunWith(t, settings, nil, "add-field", "room")
		if done.Code != 1 || !strings.Contains(done.Stderr, says) {
			t.Errorf("with %s it ended with %d: %s", setting, done.Code, done.Stderr)
		}
	}
	expectColumns(t, p, "")
}
