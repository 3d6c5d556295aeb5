package files

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// Ada has the room 1, and Alan 2. What a row may have depends on the rows before it, however many are stored together.
func TestAnImportRefusesAValueThatMustBeUnique(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=room")
	p.Run(t, "add-field", "--unique", "room").MustSucceed(t)
	other := program.OpenOther(t, p.DatabasePath())
	const update, kept = "?on_conflict=update", "Ada 1, Alan 2"
	const used = `"room is already used by another user or an earlier row of the file"`
	refused := func(of string, lines ...int) string {
		var rows []string
		for _, line := range lines {
			rows = append(rows, fmt.Sprintf(`{"line":%d,"error":%s}`, line, used))
		}
		return "422 " + refusedRows(fmt.Sprint(len(lines)), of, strings.Join(rows, ","))
	}
	stored := func(created, updated, skipped int) string {
		return "200 " + program.Imported(created, updated, skipped, 0)
	}
	for _, test := range []struct{ name, parameters, file, want, users string }{
		{"a value of a user", "", "Ben,3\nCleo,1", refused("2 rows", 3), kept},
		{"a value of an earlier row", "", "Ben,3\nCleo,3\nDan,3", refused("3 rows", 3, 4), kept},
		{"no value, which several have", "", "Ben,\nCleo,", stored(2, 0, 0), kept + ", Ben , Cleo "},
		{"rows that are left out", skipping, "Ben,3\nCleo,1\nDan,3\nEve,4", "200 " + skipped(2, 0, 0, 2,
			`{"line":3,"error":`+used+`},{"line":4,"error":`+used+`}`), kept + ", Ben 3, Eve 4"},
		{"an email that exists, too", "", "Alan,1", "422 " + refusedRows("1", "1 row",
			`{"line":2,"error":"Email is already used by another user"}`), kept},
		{"a user who keeps the value", update, "Ada,1\nAlan,3", stored(0, 1, 1), "Ada 1, Alan 3"},
		{"a value of another user", update, "Ada,2", refused("1 row", 2), kept},
		{"two who swap their values", update, "Ada,2\nAlan,1", refused("2 rows", 2, 3), kept},
		{"a value that an earlier row gives up", update, "Ada,\nAlan,1\nBen,2", stored(1, 2, 0), "Ada , Alan 1, Ben 2"},
		{"a value that a later row gives up", update, "Ben,1\nAda,", refused("2 rows", 2), kept},
		{"a value that a later row gets", update, "Ben,3\nAda,3", refused("2 rows", 3), kept},
		{"a dry run", update + "&dry_run=true", "Ada,2", refused("1 row", 2), kept},
		{"users who are skipped", "?on_conflict=skip", "Ada,2\nBen,3", stored(1, 0, 1), kept + ", Ben 3"},
		{"a value of a user who is not in the file", roster + "1", "Ada,2", refused("1 row", 2), kept},
	} {
		t.Run(test.name, func(t *testing.T) {
			other.Empty()
			other.Do("INSERT INTO users (name, email, room) VALUES ('Ada', 'ada', '1'), ('Alan', 'alan', '2')")
			file := "name,room,email\n"
			for row := range strings.SplitSeq(test.file, "\n") {
				name, _, _ := strings.Cut(row, ",")
				file += row + "," + strings.ToLower(name) + "\n"
			}
			answer := p.Do(t, "POST", program.CSV+test.parameters, file)
			program.Expect(t, "the answer", fmt.Sprint(answer.Status, " ", answer.Body), test.want)
			var users []string
			for line := range strings.Lines(p.Do(t, "GET", program.CSV, "").Body) {
				cells := strings.Split(strings.TrimSpace(line), ",")
				users = append(users, cells[1]+" "+cells[4])
			}
			program.Expect(t, "what is stored", strings.Join(users[1:], ", "), test.users)
		})
	}
}
