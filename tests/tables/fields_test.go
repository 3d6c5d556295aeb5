package tables

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
