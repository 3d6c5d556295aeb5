package files

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// TestAQuoteThatIsNeverClosedSwallowsNobody sends files in which one quote is missing: the rows behind it would be in its row.
func TestAQuoteThatIsNeverClosedSwallowsNobody(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	row := func(i int) string { return fmt.Sprintf("P%d,p%d@x\n", i, i) }
	rows := func(from, to int) (text string) {
		for i := range to - from {
			text += row(from + i)
		}
		return text
	}
	const closed = `This quoted value is not closed correctly: the separator or the end of the line must follow its last quote, ` +
		`and a quote inside it is written \"\"`
	for name, test := range map[string]struct{ file, lines, why string }{
		"to the end":       {"name,email\nA,a@x\n\"B,b@x\n" + rows(0, 1000), "3 to 1003", closed},
		"to a later value": {"name,email\n\"B,b@x\n" + rows(0, 100) + "\"C\",c@x\n" + rows(100, 200), "2 to 103", closed},
		"to the next quote at the end of a line": {"name,email\n\"B,b@x\n" + rows(0, 100) + "\"\n" + rows(100, 200), "2 to 103",
			"The row has 1 value, and the header 2 columns"},
		"to a value of a row with more": {"name,email\nB,\"b@x\n" + rows(0, 9) + "C,\",c@x\n", "2 to 12",
			"The row has 3 values, and the header 2 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			first, _, _ := strings.Cut(test.lines, " ")
			want := fmt.Sprintf(`{"error":"The row in lines %s cannot be read: nobody knows how many rows are in it; nothing was stored",`+
				`"rows":[{"line":%s,"error":"%s"}]}`, test.lines, first, test.why)
			for _, parameters := range []string{"", skipping, skipping + "&dry_run=true", "?on_conflict=update"} {
				p.Do(t, "POST", program.CSV+parameters, test.file).Expect(t, 422, want)
			}
		})
	}
	p.Do(t, "POST", program.CSV+skipping, "name,email\n\"A\nB\",a@x\nC,\"c@x\"d\nD,d@x\n").Expect(t, 200, skipped(2, 0, 0, 1,
		`{"line":4,"error":"`+closed+`"}`)) // one line has nobody else in it
	p.ExpectUsers(t, "A\nB", "D")
}
