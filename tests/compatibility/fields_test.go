package compatibility

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

// withRoom makes a table with a column room, as another program does.
func withRoom(t *testing.T, column string) (setting string, other *program.Other) {
	t.Helper()
	directory := t.TempDir()
	other = program.OpenOther(t, filepath.Join(directory, "users.db"))
	other.Do(fmt.Sprintf(tableWithRoom, column))
	return "DATA_DIR=" + directory, other
}

func TestAColumnOfAnotherProgramIsServedAsAField(t *testing.T) {
	t.Parallel()
	for _, test := range roomColumns {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory, other := withRoom(t, test.column)
			other.Do("INSERT INTO users (name, email, room) VALUES ('Ada', 'ada', " + test.stored + ")")
			before := other.Ask(storedRoom)
			p := program.Serve(t, directory, "USER_FIELDS=room")
			expect := func(request, body, want string) {
				t.Helper()
				method, path, _ := strings.Cut(request, " ")
				if answer := p.Do(t, method, path, body); !program.Matches(answer.Body, want) {
					t.Errorf("%s is answered %d %s, want %s", request, answer.Status, answer.Body, want)
				}
			}
			user := `{"id":1,"name":"%s","email":"ada","created_at":…,"room":` + test.shown + "}"
			expect("GET /api/users", "", "["+fmt.Sprintf(user, "Ada")+"]")
			expect("PATCH /api/users/1", `{"name":"Ada L"}`, fmt.Sprintf(user, "Ada L"))
			expect("POST /api/users.csv?on_conflict=update", "name,email\nAda K,ada\n", program.Imported(0, 1, 0, 0))
			expect("GET /api/users.ndjson", "", fmt.Sprintf(user, "Ada K")+"\n")
			if after := other.Ask(storedRoom); after != before {
				t.Errorf("stored was %s, and after changes of the name it is %s", before, after)
			}
			expect("PUT /api/users/1", `{"name":"Ada","email":"ada","room":"12"}`,
				strings.Replace(fmt.Sprintf(user, "Ada"), test.shown, test.twelve, 1))
			expect("GET /api/users?room=12", "", `[{"id":1,…]`)
			expect("POST /api/users", `{"name":"Alan","email":"alan"}`, `{"id":2,"name":"Alan","email":"alan","room":null}`)
		})
	}
}

func TestAColumnThatIsNoFieldEndsTheStart(t *testing.T) {
	t.Parallel()
	for _, test := range refusedRooms {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory, _ := withRoom(t, test.column)
			program.ExpectRefusal(t, program.Launch(t, program.Path(), directory, "USER_FIELDS=room"), "room", test.says)
		})
	}
}

// SQLite takes an unknown name in double quotes for a text: a column that is gone would be shown as its own name.
func TestAColumnThatIsGoneWhileTheServiceRunsIsNeverShownAsItsName(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ column, statement string }{
		"a field that is renamed":     {"room", "ALTER TABLE users RENAME COLUMN room TO chamber"},
		"a field that is dropped":     {"room", "ALTER TABLE users DROP COLUMN room"},
		"the time when it is renamed": {"created_at", "ALTER TABLE users RENAME COLUMN created_at TO made_at"},
		"the name when it is renamed": {"name", "ALTER TABLE users RENAME COLUMN name TO label"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.ServeFeed(t, "USER_FIELDS=room")
			p.Do(t, "POST", "/api/users", `{"name":"Ada","email":"ada@example.org","room":"12"}`).Expect(t, 201, "…")
			p.Do(t, "GET", "/api/changes?wait=10", "").Expect(t, 200, `{"changes":[{…`)
			program.OpenOther(t, p.DatabasePath()).Do(test.statement)
			paths := []string{"/api/changes", "/api/users/1", "/api/users", "/api/users?limit=1&q=12", "/api/users?limit=1&email=ada@example.org", "/api/users.csv",
				"/api/users?limit=1&room=12", "/api/users.ndjson?q=" + test.column}
			for range 50 { // while the description of the table is of the last second, and afterwards
				for _, path := range paths {
					p.Do(t, "GET", path, "").Expect(t, 500, "…"+test.column+"…")
				}
			}
		})
	}
}
