package fields

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/tests/program"
)

const club = "USER_FIELDS=active:boolean,level:number,joined:date,site:url,role:staff|guest|Vorstand é"

// meanings are how each type refuses a value.
var meanings = map[string]string{
	"active": "active must be true, false or null", "level": "level must be a number or null",
	"joined": "joined must be a date such as 2026-12-31 or null",
	"site":   "site must be an address that begins with http:// or https://, or null",
	"role":   "role must be staff, guest or Vorstand é, or null",
}

// Each line is a field, and values as JSON has them with how they are shown; a refused one is shown as nothing.
func TestAValueIsReadAndShownAsItsTypeSays(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, club)
	p.Create(t, "Ada", "ada")
	for field, cases := range map[string]map[string]string{
		"active": {
			`true`: `true`, `1`: `true`, `0`: `false`, `"TRUE"`: `true`, `"Yes"`: `true`, `"no"`: `false`, `"0"`: `false`, `"WAHR"`: `true`, `"FAUX"`: `false`,
			`"VERDADERO"`: `true`, `"FALSO"`: `false`, `"VERO"`: `true`, `"VERDADEIRO"`: `true`, `"WAAR"`: `true`, `"ONWAAR"`: `false`, `""`: `null`,
			`2`: ``, `"on"`: ``, `" true"`: ``, `[]`: ``,
		},
		"level": {
			`3.0`: `3`, `"-0.0"`: `0`, `1e3`: `1000`, `12E-1`: `1.2`, `"-0.50"`: `-0.5`, `0`: `0`, `null`: `null`, `""`: `null`,
			`123456789012345`: `123456789012345`, `123456789.123456`: `123456789.123456`, `"0.000001"`: `0.000001`,
			`1234567890123456`: ``, `1234567890.123456`: ``, `0.0000001`: ``, `1e15`: ``, `1e9999999999`: ``,
			`"1e3"`: ``, `"+3"`: ``, `"03"`: ``, `" 3"`: ``, `"3,5"`: ``, `".5"`: ``, `"5."`: ``, `"١"`: ``, `true`: ``,
		},
		"joined": {
			`"2026-12-31"`: `"2026-12-31"`, `"2026-12-31T00:00:00Z"`: `"2026-12-31"`, `"2026-12-31T00:00:00.000Z"`: `"2026-12-31"`,
			`"2026-12-31 00:00:00"`: `"2026-12-31"`, `"2024-02-29"`: `"2024-02-29"`, `"0001-01-01"`: `"0001-01-01"`, `""`: `null`,
			`"1900-02-29"`: ``, `"0000-01-01"`: ``, `"31.12.2026"`: ``, `"2026-1-1"`: ``, `20261231`: ``, `"2026-12-31T10:00:00Z"`: ``,
		},
		"site": {
			`"https://example.org/a?b#c"`: `"https://example.org/a?b#c"`, `"HTTP://me@[::1]:80"`: `"HTTP://me@[::1]:80"`, `""`: `null`,
			`"ftp://example.org"`: ``, `"https:///a"`: ``, `"example.org"`: ``, `"https://a b"`: ``, `"https://a/\u00a0"`: ``, `"https://a/\u0000"`: ``,
			`"https://a/` + strings.Repeat("é", 996) + `"`: ``,
		},
		"role": {`"STÁFF"`: `"staff"`, `"vorstand e"`: `"Vorstand é"`, `""`: `null`, `"chair"`: ``, `"staff "`: ``, `1`: ``},
	} {
		for sent, shown := range cases {
			file, patch := fmt.Sprintf(`{"name":"Ada","email":"ada","%s":%s}`, field, sent), fmt.Sprintf(`{"%s":%s}`, field, sent)
			loose := p.At(p.URL) // the document describes booleans, and not 1 and 0
			if shown == "" {
				loose.Do(t, "PATCH", "/api/users/1", patch).To(patch).Expect(t, 400, program.ErrorBody(meanings[field]))
				loose.Do(t, "POST", "/api/users", file).To(file).Expect(t, 400, program.ErrorBody(meanings[field]))
				p.Do(t, "POST", program.NDJSON+"?on_conflict=update", file).Expect(t, 422,
					`…"rows":[{"line":1,"error":"`+meanings[field]+`"}]}`)
			} else {
				loose.Do(t, "PATCH", "/api/users/1", patch).To(patch).Expect(t, 200, `…"`+field+`":`+shown+`…`)
				p.Do(t, "POST", program.NDJSON+"?on_conflict=update&dry_run=true", file).To(file).Expect(t, 200,
					`…"updated":0,"skipped":1…`)
			}
			var text string
			if json.Unmarshal([]byte(sent), &text) != nil || text == "" {
				continue
			}
			found := p.Do(t, "GET", "/api/users?"+field+"="+url.QueryEscape(text), "").To("a filter for " + sent)
			others := p.Do(t, "GET", "/api/users?"+field+"!="+url.QueryEscape(text), "").To("a filter for all but " + sent)
			if shown == "" {
				found.Expect(t, 400, `{"error":"The parameter `+field+` must be … empty"}`)
				others.Expect(t, 400, `{"error":"The parameter `+field+`! must be … empty"}`)
			} else {
				found.Expect(t, 200, `[{"id":1,…}]`)
				others.Expect(t, 200, `[]`)
			}
		}
	}
}

// serveOlder starts a program with users whose texts are older than the types, or another program's.
func serveOlder(t *testing.T) *program.Program {
	t.Helper()
	p := program.Serve(t, "USER_FIELDS=active,level,joined,site,role")
	for i, level := range []string{`"TRUE","level":"10"`, `"true","level":"9"`, `"false","level":"3.0"`, `"","level":"-5"`,
		`null,"level":null`,
		`"yes","level":"é"`, `"0","level":"-5.5"`} {
		p.Do(t, "POST", "/api/users", fmt.Sprintf(`{"name":"n","email":"e%d","joined":"2026-02-3%d","role":"Guest","active":%s}`,
			i+1, i, level)).Expect(t, 201, "…")
	}
	p.Stop(t)
	return p.Again(t, club)
}

func TestATextThatDoesNotFitIsShownAndStaysUntilItIsMended(t *testing.T) {
	t.Parallel()
	p := serveOlder(t)
	for field, says := range map[string]string{
		"active": `type=boolean values=3 first_ids="[1 6 7]"`, "level": `type=number values=2 first_ids="[3 6]"`,
		"joined": `type=date values=7 first_ids="[1 2 3 4 5 6 7]"`, "role": `type=choice values=7 first_ids=…`,
	} {
		program.Expect(t, "the warning", p.Line(t, "field="+field+" type="), "…level=WARN msg=\"values do not fit…"+says+"…")
	}
	const first = `{"id":1,"name":"n","email":"e1","created_at":"T","active":"TRUE","level":10,` +
		`"joined":"2026-02-30","site":null,"role":"Guest"}`
	expect(t, p,
		exchange{"it is shown as the text that it is", "GET /api/users/1", "", "200 " + first},
		exchange{"an empty text is no value", "GET /api/users/4", "", `200 {…"active":null,"level":-5,…}`},
		exchange{"sent back unchanged it is accepted", "PATCH /api/users/1", p.Do(t, "GET", "/api/users/1", "").Body,
			"200 " + first},
		exchange{"in a batch", "POST /api/users/batch",
			`{"requests":[{"method":"PATCH","path":"/api/users/1","body":{"joined":"2026-02-30"}},` +
				`{"method":"PATCH","path":"/api/users/1","body":{"joined":"2026-02-31"}}]}`,
			`200 {"responses":[{"status":200,…},{"status":400,…must be a date…}]}`},
		exchange{"in a file", "POST /api/users.csv?on_conflict=update", "name,email,joined\nn,e1,2026-02-30\n", "200 " +
			program.Imported(0, 0, 1, 0)},
		exchange{"but not of somebody else", "POST /api/users.csv?on_conflict=update&on_error=skip",
			"name,email,joined\nn,e2,2026-02-30\nn,e9,2026-02-30\n",
			`200 {"created":0,"updated":0,…"refused":2,"rows":[{"line":2,"error":"` + meanings["joined"] + `"},{"line":3,…}]…}`},
		exchange{"404 comes first", "PATCH /api/users/99", `{"level":"x"}`, `404 {"error":"User not found"}`},
		exchange{"no value of the type finds it", "GET /api/users?active=TRUE", "", `200 [{"id":2,…}]`},
		exchange{"it is in no range", "GET /api/users?joined_from=0001-01-01", "", "200 []"},
		exchange{"a range is of values", "GET /api/users?level_from=-5.50&level_to=9.000001", "",
			`200 [{"id":2,…},{"id":4,…},{"id":7,…}]`},
		exchange{"an empty end", "GET /api/users?level_from=", "", `400 {"error":"The parameter level_from must be a number"}`},
		exchange{"all that was sent counts", "PATCH /api/users/1", `{"active":true,"joined":"2026-02-28","role":"GUEST"}`,
			`200 {…"active":true,"level":10,"joined":"2026-02-28","site":null,"role":"guest"}`},
		exchange{"its history is shown by the types", "GET /api/users/1/changes?limit=1", "", `200 {"changes":[{…` +
			`"before":{"active":"TRUE","joined":"2026-02-30","role":"Guest"},` +
			`"after":{"active":true,"joined":"2026-02-28","role":"guest"}}]}`},
		exchange{"and may be undone", "PATCH /api/users/1", `{"level":9.50}`, `200 {…"level":9.5,…}`},
		exchange{"a file has what is stored", "GET /api/users.csv?id=1", "", "200 id,…\r\n1,n,e1,T,true,9.5,2026-02-28,,guest\r\n"},
		exchange{"a spreadsheet is kept from changing it", "GET /api/users.csv?id=1&spreadsheet=true", "",
			"200 …\r\n1,n,e1,T,'true,'9.5,'2026-02-28,,guest\r\n"},
		exchange{"and brings it back", "POST /api/users.csv?spreadsheet=true&on_conflict=update",
			"name,email,active,level,joined,role\nn,e1,'false,'9.5,2026-02-28 00:00:00,STAFF\n", "200 " + program.Imported(0, 1, 0, 0)},
		exchange{"the feed shows it by its type", "GET /api/changes?limit=100", "",
			`200 {…"active":false,"level":9.5,"joined":"2026-02-28",…}`},
	)
	p.Do(t, "PATCH", "/api/users/2", `{"level":"x"}`, `If-Match: "no"`).Expect(t, 412, "…")
	p.Delete(t, 2)
	expect(t, p,
		exchange{"who was deleted", "GET /api/users/deleted", "", `200 [{"id":2,…"active":true,"level":9,"joined":"2026-02-31",…}]`},
		exchange{"as the history has it", "GET /api/users/2/changes?limit=1", "",
			`200 {…"before":{…"active":true,"level":9,"joined":"2026-02-31",…}}]}`},
		exchange{"a value may be given", "POST /api/users/2/restore", `{"level":"x"}`, "400 " + program.ErrorBody(meanings["level"])},
		exchange{"and what does not fit comes back", "POST /api/users/2/restore", `{"level":8.0,"joined":"2026-02-31"}`,
			`201 {…"level":8,"joined":"2026-02-31",…}`},
	)
	p.Stop(t)
	expect(t, p.Again(t, "USER_FIELDS=active,level,joined,site,role"),
		exchange{"without the types, what was recorded is texts", "GET /api/users/1/changes", "",
			`200 {…"after":{"active":"true","joined":"2026-02-28","role":"guest"}…`},
		exchange{"and they are stored as they were", "GET /api/users/2", "",
			`200 {…"active":"true","level":"8","joined":"2026-02-31","site":null,"role":"Guest"}`})
}

func TestTypesComeAndGoWithoutATraceInWhatIsStored(t *testing.T) {
	t.Parallel()
	p := program.Serve(t, "USER_FIELDS=level,role")
	other := program.OpenOther(t, p.DatabasePath())
	other.Fill(10_000)
	other.Do("UPDATE users SET level = CASE id % 5 WHEN 0 THEN '' WHEN 1 THEN '3.0' WHEN 2 THEN 'true' WHEN 3 THEN '2026-02-28' END",
		"UPDATE users SET role = 'Staff'")
	other.Close()
	before := p.Do(t, "GET", program.CSV, "").Body
	for _, types := range []string{"level:number,role:staff|guest", "level:date,role:text", "level,role"} {
		next := p.Do(t, "GET", "/api/users?sort=role&limit=1000", "").Next()
		p.Do(t, "GET", "/api/users"+next, "").Expect(t, 200, "[{…")
		p = p.Again(t, "USER_FIELDS="+types)
		status := map[bool]int{true: 200, false: 400}[types == "level,role"] // which is text as before
		p.Do(t, "GET", "/api/users"+next, "").To("a page that goes on with "+types).Expect(t, status, "…")
		if p.Do(t, "GET", program.CSV, "").Body != before {
			t.Errorf("with %s another file is exported", types)
		}
		lines := p.Do(t, "GET", program.NDJSON, "").Body
		p.Do(t, "POST", program.NDJSON+"?on_conflict=update", lines).Expect(t, 200, `{"created":0,"updated":0,"skipped":10000,…`)
		if types != "level,role" { // where an empty cell is not an empty text
			p.Do(t, "POST", program.CSV+"?on_conflict=update", before).Expect(t, 200, `{"created":0,"updated":0,"skipped":10000,…`)
		}
	}
}

func TestASettingWithATypeThatCannotBeEndsTheStart(t *testing.T) {
	t.Parallel()
	for fields, says := range map[string]string{
		"level:integer":                      `the type of level is \"integer\": it must be text, boolean, number, date, url, or 2 to 100 choices`,
		"role:staff":                         `the type of role is \"staff\"`,
		"role:staff|":                        `role has the choice \"\": each must have 1 to 100 characters`,
		"role:a" + strings.Repeat("|x", 100): `2 to 100 choices`,
		"role:staff|Stáff":                   `role has the choice \"Stáff\": each must`,
		"updated_at:date":                    `updated_at cannot have the type date`,
		"external_id:number":                 `external_id cannot have the type number`,
		"active:yes|no":                      `active cannot have the type choice`,
		"joined:date,joined_to":              `lists of a date take joined_from and joined_to, which are`,
		"level:number,level:boolean":         `it names level twice`,
	} {
		program.ExpectRefusal(t, program.Launch(t, program.Path(), "USER_FIELDS="+fields), "USER_FIELDS is", says)
	}
	p := program.Serve(t, "USER_FIELDS=phone:text,active:boolean,external_id:text,role: a | b ,joined,joined_to")
	expect(t, p, exchange{"text is no type", "POST /api/users", `{"name":"n","email":"e","phone":"","role":"B","joined":"x"}`,
		`201 {…"phone":"","active":null,"external_id":null,"role":"b","joined":"x","joined_to":null}`})
	p.Run(t, "add-field", "level:number").ExpectMistake(t, "a column holds text whatever the type of its field is")
}

// Texts near to values, as a program may have stored them, are told apart from values by both databases as by Go.
func TestTheDatabaseOrdersEveryTextAsItsTypeDoes(t *testing.T) {
	t.Parallel()
	seeds := map[string][]string{
		"active": {"true", "false", "TRUE", "1"},
		"level": {"0", "-0", "3.0", "1e5", " 3", "-12.5", "123456789012345", "1234567890.12345", "0.000001",
			"99999999999999999999", "-5", "10", "100", "9"},
		"joined": {"2026-02-28", "2024-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0400-02-29", "9999-12-31",
			"2026-11-30", "2026-12-31 "},
		"site": {"https://example.org/a", "http://u:p@[::1]:8/?é#", "HTTPS://É.example", "https://a\u00a0b", "http://a\u0085",
			"https://x\u3000", "ftp://a"},
		"role": {"staff", "guest", "Staff", "staff\n", "Vorstand é"},
	}
	letters := []rune("0123456789-.:/@#?[]\\ eE+TZtrue\n\u2028éß")
	p := program.Serve(t, club)
	other := program.OpenOther(t, p.DatabasePath())
	for field, texts := range seeds {
		other.Empty()
		of := typeOf(field)
		for range 400 {
			text := []rune(texts[rand.IntN(len(texts))])
			for range rand.IntN(3) + 1 {
				at := rand.IntN(len(text) + 1)
				text = slices.Replace(text, at, min(len(text), at+rand.IntN(2)), letters[rand.IntN(len(letters))])
			}
			texts = append(texts, string(text))
		}
		texts = append(texts, "", seeds[field][0])
		var rows, want []string
		for i, text := range texts {
			rows = append(rows, fmt.Sprintf("('n', 'e%d', '%s')", i, strings.ReplaceAll(text, "'", "''")))
			want = append(want, expectedKey(of, text)+fmt.Sprintf("\x00%05d", i+1))
		}
		other.Do("INSERT INTO users (name, email, " + field + ") VALUES " + strings.Join(rows, ", "))
		slices.Sort(want)
		for _, order := range []string{"asc", "desc"} {
			var got []string
			for next := "?limit=150&sort=" + field + "&order=" + order; next != ""; {
				page := p.Do(t, "GET", "/api/users"+next, "")
				for _, user := range page.Users(t) {
					got = append(got, expectedKey(of, texts[user.ID-1])+fmt.Sprintf("\x00%05d", user.ID))
				}
				next = page.Next()
			}
			program.Expect(t, "the users by "+field+" "+order, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
			slices.Reverse(want)
		}
	}
}

func typeOf(field string) *models.Type {
	declared := strings.Split(strings.TrimPrefix(club, "USER_FIELDS="), ",")
	return models.NewFields(declared...).Find(field).Type
}

// expectedKey orders texts as lists have them: no value, texts that do not fit, and values.
func expectedKey(of *models.Type, text string) string {
	switch {
	case text == "":
		return "0"
	case !of.Fits(text):
		return "1" + models.Fold(text)
	case of.Choices != nil:
		return fmt.Sprintf("2%02d", slices.Index(of.Choices, text))
	}
	return "2" + string(of.Order(text))
}
