package operations

import (
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestAMistakeInTheFieldsEndsTheStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ setting, says string }{
		"an empty name":                {"room,,city", "cannot be the name of a field: it has 1 to 40 of the characters"},
		"a name in capitals":           {"ROOM", `ROOM\" cannot be the name of a field`},
		"a name that users have":       {"email", "every user has the field email already"},
		"a name that is a parameter":   {"room,order", "order is a parameter of the API"},
		"a name twice":                 {"room,city,room", "it names room twice"},
		"more names than there may be": {strings.Repeat("a,", 32) + "a", "it names 33 fields, and at most 32 can be added"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, program.Path(), "USER_FIELDS="+test.setting)
			program.ExpectRefusal(t, p, `USER_FIELDS is \"`+test.setting, test.says)
			program.ExpectNoDirectory(t, p.DataDir)
		})
	}
}
