package operations

import (
	"path/filepath"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAFieldWhoseColumnIsMissingEndsTheStart(t *testing.T) {
	t.Parallel()
	first := program.Serve(t, "USER_FIELDS=city")
	directory := "DATA_DIR=" + first.DataDir
	for name, test := range map[string]struct{ setting, says string }{
		"one column": {"room", "the table users has no column room: run `users-api add-field room`, or take"},
		"two columns, and one that is there": {"room,city,floor",
			"the table users has no column room, no column floor: run `users-api add-field room`, `users-api add-field floor`, or take"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program.ExpectRefusal(t, program.Launch(t, program.Path(), directory, "USER_FIELDS="+test.setting), test.says,
				"what is missing out of USER_FIELDS")
		})
	}
	expectColumns(t, first, "city")
}

// expectColumns fails the test unless the table has these columns besides the four that it always has.
func expectColumns(t *testing.T, p *program.Program, want string) {
	t.Helper()
	want = strings.Trim(program.OwnColumns()+want, ",")
	if got := program.OpenOther(t, p.DatabasePath()).Ask(otherColumns); got != want {
		t.Errorf("the table has the columns %q, want %q", got, want)
	}
}

func TestOfTwoFirstStartsWithOtherFieldsOneWins(t *testing.T) {
	t.Parallel()
	for range program.Times(3, 30) {
		directory := "DATA_DIR=" + filepath.Join(t.TempDir(), "data")
		one := program.Launch(t, program.Path(), directory, "USER_FIELDS=room")
		other := program.Launch(t, program.Path(), directory, "USER_FIELDS=city")
		program.WaitFor(t, "one of them ends", func() bool {
			return strings.Contains(one.Log()+other.Log(), "level=ERROR")
		})
		winner, loser, missing := one, other, "city"
		if strings.Contains(one.Log(), "level=ERROR") {
			winner, loser, missing = other, one, "room"
		}
		winner.WaitForAddress(t)
		program.ExpectRefusal(t, loser, "the table users has no column "+missing+": run `users-api add-field "+missing+"`")
	}
}
