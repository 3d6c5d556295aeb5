package scim

import (
	"fmt"
	"testing"

	"users-api/tests/program"
)

// What people and spreadsheets write for false is false, so that nobody who left keeps access.
func TestAWordForFalseDeactivatesAUser(t *testing.T) {
	t.Parallel()
	p := serve(t, needed)
	inactive := ""
	for i, word := range []string{"false", "FALSE", "False", "0", "no", "NO", "FALSCH", "Falsch", "FAUX", "falso", "Onwaar",
		"true", "TRUE", "1", "yes", "WAHR", "", "-", "no no", "00", "ＦＡＬＳＥ"} {
		isActive := i > 10
		if !isActive {
			inactive += fmt.Sprint(" ", i+1)
		}
		p.Do(t, "POST", program.CSV, "name,email,active,external_id\n"+fmt.Sprintf("n,%d@x,%s,e\n", i+1, word)).Expect(t, 200, "…")
		expect(t, p, exchange{"active with " + word, fmt.Sprint("GET /Users/", i+1), "", fmt.Sprintf(`200 {"active":%t,…`, isActive)})
	}
	const active = " 12 13 14 15 16 17 18 19 20 21"
	for filter, want := range map[string]string{
		`active eq false`: inactive, `active ne true`: inactive, `active eq "False"`: inactive, `not (active eq true)`: inactive,
		`active eq true`: active, `active ne false`: active, `not (active eq false)`: active,
	} {
		program.Expect(t, "whom "+filter+" finds", " "+found(t, p, filter), want)
	}
	expect(t, p, exchange{"a word is kept by what does not name it", "PATCH /Users/2", operations(`{"op":"replace","path":"externalId","value":"f"}`), `200 {"active":false,…`},
		exchange{"as it was stored", "GET /api/users/2", "", `200 {…"active":"FALSE"}`},
		exchange{"also by a PUT", "PUT /Users/2", `{"userName":"2@x","displayName":"n","externalId":"f"}`, `200 {"active":false,…`},
		exchange{"as it was stored", "GET /api/users/2", "", `200 {…"active":"FALSE"}`},
		exchange{"and written as true or false", "PATCH /Users/2", operations(`{"op":"replace","path":"active","value":true}`), `200 {"active":true,…`},
		exchange{"in small letters", "GET /api/users/2", "", `200 {…"active":"true"}`})
}
