package operating

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"users-api/tests/program"
)

var longName = strings.Repeat("a", 40)

// numbered returns the names f1 to fN, separated by commas.
func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("f", i+1)
	}
	return strings.Join(names, ",")
}

func TestAMistakeInTheFieldsIsNamed(t *testing.T) {
	t.Parallel()
	const shape = `" cannot be the name of a field: it has 1 to 40 of the characters a-z, 0-9 and _, and begins with a letter`
	const taken = " is a parameter of the API, so a field cannot have that name"
	for name, test := range map[string]struct{ setting, says string }{
		"33 are too many":                       {numbered(33), "it names 33 fields, and at most 32 can be added"},
		"a name is there twice":                 {"room,city,room", "it names room twice"},
		"a name with 41 characters is too long": {longName + "a", `"` + longName + "a" + shape},
		"a name has no capital letters":         {"room,City", `"City` + shape},
		"a name does not begin with a digit":    {"2nd", `"2nd` + shape},
		"an empty name between two commas":      {"room,,city", `"` + shape},
		"every user has an email":               {"email", "every user has the field email already"},
		"max_deletes is a parameter of imports": {"max_deletes", "max_deletes" + taken},
		"updated_to is one with updated_at":     {"updated_to", "updated_to" + taken},
		"wait is a parameter of the feed":       {"wait", "wait" + taken},
		"deleted_by is a deleted user's":        {"deleted_by", "every deleted user has the field deleted_by already"},
		"filter is a parameter of SCIM":         {"filter", "filter" + taken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := program.RunWith(t, []string{"USER_FIELDS=" + test.setting}, nil, "index-search")
			done.ExpectMistake(t, fmt.Sprintf("USER_FIELDS is %q: %s\n", test.setting, test.says))
		})
	}
}

func TestAFieldWhoseColumnIsMissingEndsTheStart(t *testing.T) {
	t.Parallel()
	empty := program.Serve(t)
	empty.Stop(t)
	first := program.Serve(t, "DATA_DIR="+empty.DataDir, "USER_FIELDS=city") // a table without a user gets it
	first.WaitForLog(t, `msg="columns were added to the table users, which has no user" columns=city`)
	first.Create(t, "Ada", "ada@example.org")
	p := program.Launch(t, program.Path(), "DATA_DIR="+first.DataDir, "USER_FIELDS=room,city,floor")
	program.ExpectRefusal(t, p, "the table users has no column room, no column floor: run `users-api add-field room`, "+
		"`users-api add-field floor`, or take what is missing out of USER_FIELDS")
	program.Forbid(t, p.Log(), "compose")
	beside := program.Launch(t, program.Path(), "DATA_DIR="+first.DataDir, "USER_FIELDS=room",
		"LISTEN_ADDRESS=", "PUBLISH=127.0.0.1:3000")
	program.ExpectRefusal(t, beside, "run `users-api add-field room`", `help="With compose, write `+"`docker compose run")
	expectColumns(t, first, "city")
}

// expectColumns fails the test unless the table has these columns besides the four that it always has.
func expectColumns(t *testing.T, p *program.Program, want string) {
	t.Helper()
	want = strings.Trim(program.OwnColumns()+want, ",")
	columns := "SELECT COALESCE(group_concat(name), '') FROM pragma_table_info('users') WHERE name "
	if program.PostgreSQL {
		columns = `SELECT COALESCE(string_agg(column_name, ',' ORDER BY ordinal_position), '')
			FROM information_schema.columns WHERE table_name = 'users' AND column_name `
	}
	columns += "NOT IN ('id', 'name', 'email', 'created_at')"
	program.Expect(t, "the columns of the table", program.OpenOther(t, p.DatabasePath()).Ask(columns), want)
}

// expectDone fails the test unless a command ended well and said these lines.
func expectDone(t *testing.T, done program.Outcome, lines ...string) {
	t.Helper()
	program.Expect(t, "the end", done, program.Outcome{Stderr: strings.Join(lines, "\n") + "\n"})
}

const addingRoom = "adding the columns room to users in …"

func TestAFieldIsAddedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Secret", "secret")
	before := p.Do(t, "GET", "/api/users", "")
	expectDone(t, p.Run(t, "add-field", "room"), addingRoom, "added: now name room in USER_FIELDS, and start the service again")
	again := p.Run(t, "add-field", "room")
	again.ExpectFailure(t, addingRoom, "the table users has the column room already")
	program.Forbid(t, again.Stderr, "ecret")
	expectColumns(t, p, "room")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, before.Body)
	p.Create(t, "Alan", "alan@example.org")
	settings := append(program.EngineSettings(t, p.DataDir), "DATA_DIR="+p.DataDir, "USER_FIELDS=room,city")
	program.RunWith(t, settings, nil, "add-field", "city").MustSucceed(t) // before the others of the setting, or after them
	p = p.Again(t, "USER_FIELDS=room,city")
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…,"room":null,"city":null},{"id":2,…,"room":null,"city":null}]`)
	p.Change(t, 1, `{"room":"7"}`)
}

func TestNoRequestFailsWhileTheTableIsChangedBesideTwoProcesses(t *testing.T) {
	t.Parallel()
	one := program.Serve(t)
	two := program.Serve(t, "DATA_DIR="+one.DataDir)
	writers := program.StartWriters(2, one, two)
	for _, command := range []string{"add-field room", "add-field updated_at", "add-field city", "ignore-email-case", "add-field floor",
		"add-field --unique city", "add-field --unique shelf"} {
		one.Run(t, strings.Fields(command)...).MustSucceed(t)
		one.List(t)
		two.List(t)
	}
	writers.StopAndExpect(t, one, two)
	program.Forbid(t, one.Log()+two.Log(), "level=ERROR") // nor is a creation refused
	expectColumns(t, one, "room,updated_at,city,floor,shelf")
}

// adding is what add-field --unique says first.
func adding(name string) string {
	return "adding the columns " + name + " if there are none, and a unique index of the values of each that are not empty, to users in …"
}

// PostgreSQL writes a column that is a word of SQL in quotes, and the condition of a varchar in another way.
func TestAFieldBecomesUniqueWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Do("ALTER TABLE users ADD COLUMN room TEXT", `ALTER TABLE users ADD COLUMN "group" VARCHAR(9)`)
	p = p.Again(t, "USER_FIELDS=room,group")
	for i, value := range []string{`"a"`, `"b"`, `"a"`, `"b"`, `"A"`, `""`, `""`, "null", "null", `"b"`} {
		p.Do(t, "POST", "/api/users", fmt.Sprintf(`{"name":"n","email":"%d","room":%s,"group":%[2]s}`, i, value)).Expect(t, 201, "…")
	}
	for _, name := range []string{"room", "group"} {
		refused := "nothing was changed, because some users have the same " + name + ": "
		p.Run(t, "add-field", "--unique", name).ExpectFailure(t, adding(name), refused, "the users have the ids 1, 3, 2, 4, 10\n")
		p.Change(t, 9, `{"`+name+`":"a"}`) // no index refuses it
		for id, value := range map[int64]string{1: `"c"`, 2: "null", 4: `""`, 9: "null"} {
			p.Change(t, id, `{"`+name+`":`+value+`}`)
		}
		done := "done: no two users have the same value; now name " + name + " in USER_FIELDS, and start the service again"
		expectDone(t, p.Run(t, "add-field", "--unique", name), adding(name), done)
		p.Do(t, "PATCH", "/api/users/9", `{"`+name+`":"a"}`).Expect(t, 409, program.ErrorBody(name+" is already used by another user"))
		p.Change(t, 10, `{"`+name+`":""}`) // as others have
		again := "the table users has a unique index on the column " + name + " already: nothing was changed"
		p.Run(t, "add-field", "--unique", name).ExpectFailure(t, adding(name), again)
	}
	p.Run(t, "add-field", "--unique", "city").MustSucceed(t)
	expectColumns(t, p, "room,group,city")
	p.Run(t, "add-field", "--unique", "updated_at").ExpectFailure(t, adding("updated_at"), "updated_at is a time, which many users may share")
}

// Whether a field is unique follows from what an index is on, and not from its name.
func TestAnIndexOfAnotherProgramIsKnownByItsColumns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room,city,floor,shelf,desk")
	other := program.OpenOther(t, p.DatabasePath())
	other.Do("ALTER TABLE users ADD COLUMN seats INTEGER", "CREATE UNIQUE INDEX one ON users (room)",
		"CREATE UNIQUE INDEX two ON users (city)\nWHERE city <> ''", "CREATE UNIQUE INDEX few ON users (floor) WHERE floor <> 'x'",
		"CREATE UNIQUE INDEX pairs ON users (floor, city)", "CREATE UNIQUE INDEX others ON users (shelf) WHERE city <> ''",
		"CREATE UNIQUE INDEX users_desk_unique ON users (desk, room)")
	for name, says := range map[string]string{
		"room": "has a unique index on the column room already", "city": "has a unique index on the column city already",
		"seats": "users cannot be served: its column seats ", "desk": "users_desk_unique",
	} {
		p.Run(t, "add-field", "--unique", name).ExpectFailure(t, adding(name), says)
	}
	for _, name := range []string{"floor", "shelf"} {
		p.Run(t, "add-field", "--unique", name).MustSucceed(t)
	}
	p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"ada","floor":"x","shelf":"1","desk":"1"}`).Expect(t, 201, "…")
	p.Do(t, "POST", "/api/users", `{"name":"Alan","email":"alan","desk":"1"}`).Expect(t, 201, "…")
	for _, value := range []string{`"floor":"x"`, `"shelf":"1"`} {
		p.Do(t, "PATCH", "/api/users/2", "{"+value+"}").Expect(t, 409, "…")
	}
}

// Users who exist were last changed when they were created.
func TestUpdatedAtIsAddedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada@example.org")
	p.Create(t, "Alan", "alan@example.org")
	program.OpenOther(t, p.DatabasePath()).Do("UPDATE users SET created_at = '2024-02-29 12:00:00+00:00'")
	const adding = "adding the columns updated_at, city to users in …"
	expectDone(t, p.Run(t, "add-field", "updated_at", "city"), adding,
		"added: now name updated_at, city in USER_FIELDS, and start the service again")
	expectColumns(t, p, "updated_at,city")
	p.Change(t, 2, `{"name":"Alan T"}`) // it goes on, and does not know the column
	p = p.Again(t, "USER_FIELDS=updated_at")
	const at = `…"created_at":"2024-02-29 12:00:00",…"updated_at":"2024-02-29 12:00:00"}`
	p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,`+at+`,{"id":2,"name":"Alan T",`+at+"]")
	p.Change(t, 2, `{"name":"Alan"}`)
	p.Do(t, "GET", "/api/users?updated_to=2024-03-01", "").Expect(t, 200, `[{"id":1,…}]`)
}

// Frameworks make such columns, also so that they refuse NULL. Each way to create a user gives it a time.
func TestAColumnUpdatedAtOfAnotherProgramIsATime(t *testing.T) {
	t.Parallel()
	for kind, shown := range map[string]string{
		"timestamp with time zone": "", "timestamp NOT NULL DEFAULT '2024-02-29 12:00:00'": "2024-02-29 12:00:00",
	} {
		p := program.Serve(t)
		program.OpenOther(t, p.DatabasePath()).Do("ALTER TABLE users ADD COLUMN updated_at "+kind,
			"INSERT INTO users (name, email, updated_at) VALUES ('Ada', 'ada', '2024-02-29 12:00:00')",
			"INSERT INTO users (name, email) VALUES ('Alan', 'alan')")
		p = p.Again(t, "USER_FIELDS=updated_at")
		p.Do(t, "GET", "/api/users", "").Expect(t, 200, `[{"id":1,…"updated_at":"2024-02-29 12:00:00"},{"id":2,…"updated_at":"`+shown+`"}]`)
		day := time.Now().UTC().Format(time.DateOnly)
		p.Change(t, 2, `{"name":"A"}`)
		p.Create(t, "Ben", "ben")
		p.Do(t, "PUT", "/api/users/c@b", `{"name":"Cleo"}`).Expect(t, 201, `{"id":4,…"updated_at":"20…"}`)
		p.Do(t, "POST", program.CSV, "name,email\nDan,dan\n").Expect(t, 200, program.Imported(1, 0, 0, 0))
		p.Do(t, "GET", "/api/users?updated_from="+day+"&limit=9", "").Expect(t, 200, `[{"id":2,…},{"id":3,…},{"id":4,…},{"id":5,…}]`)
	}
}
