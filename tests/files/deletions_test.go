package files

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

const roster = "?on_conflict=update&on_missing=delete&max_deletes="

// deleting is the answer to an import with on_missing=delete, which deletes these users.
func deleting(created, updated, skipped, deleted int, users ...string) string {
	return strings.Replace(program.Imported(created, updated, skipped, deleted), `"ignored`,
		`"deleted_users":[`+strings.Join(users, ",")+`],"ignored`, 1)
}

// Of 102 users the file has the fifth: 101 others are deleted, of which the first 100 are named.
func TestTheFirst100OfTheDeletedUsersAreNamed(t *testing.T) {
	t.Parallel()
	var named []string
	for id := 1; len(named) < 100; id++ {
		if id != 5 {
			named = append(named, fmt.Sprintf(`{"id":%d,"email":"e%d"}`, id, id))
		}
	}
	const refused = "101 users are not in the file and would be deleted, and max_deletes is 100; nothing was stored"
	list := `"rows":[],"deleted_users":[` + strings.Join(named, ",") + "]}"
	for path, file := range map[string]string{program.CSV: "name,email\nN,e5\n", program.NDJSON: `{"name":"N","email":"e5"}`} {
		p, users := program.Serve(t), "name,email\n"
		for i := range 102 {
			users += fmt.Sprintf("N,e%d\n", i+1)
		}
		p.Do(t, "POST", program.CSV, users).Expect(t, 200, "…")
		for _, test := range []struct {
			name, parameters string
			status           int
			answer           string
			left             int
		}{
			{"a dry run", "101&dry_run=true", 200, deleting(0, 0, 1, 101, named...), 102},
			{"too many", "100", 422, `{"error":"` + refused + `",` + list, 102},
			{"the import", "101", 200, deleting(0, 0, 1, 101, named...), 1},
			{"the import again, which deletes none", "101", 200, deleting(0, 0, 1, 0), 1},
		} {
			answer := p.Do(t, "POST", path+roster+test.parameters, file).To(path + ", " + test.name)
			answer.Expect(t, test.status, test.answer)
			if users := p.List(t); len(users) != test.left || users[len(users)-1].Email == "e5" != (test.left == 1) {
				t.Errorf("%s, %s: left are %v", path, test.name, users)
			}
		}
	}
}
