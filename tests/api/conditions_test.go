package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"users-api/tests/program"
)

// A tag that a client knows already refuses a write as long as it is the user's (RFC 9110, section 13.1.2).
func TestAWriteIsRefusedWhileTheUserHasTheTagOfIfNoneMatch(t *testing.T) {
	t.Parallel()
	p := readable(t)
	tag := program.ETag(t, p, 1)
	for _, header := range []string{tag, "W/" + tag, `"x", ` + tag, "\"x\"\nIf-None-Match: " + tag, tag[:len(tag)-1] + `-gzip"`} {
		for _, request := range [][2]string{{"PATCH", `{"name":"B"}`}, {"PUT", both}, {"DELETE", ""}} {
			for _, path := range []string{"/api/users/1", "/api/users/ada@example.org"} {
				answer := p.Do(t, request[0], path, request[1], strings.Split("If-None-Match: "+header, "\n")...)
				answer.Expect(t, 412, `{"error":"The user has the ETag that If-None-Match names"}`)
				program.ExpectHeader(t, answer, "ETag", tag)
			}
		}
	}
	p.Do(t, "PATCH", "/api/users/1", `{"name":"B"}`, "If-Match: "+tag, "If-None-Match: "+tag).Expect(t, 412, "…If-None-Match…")
	p.Do(t, "PATCH", "/api/users/1", `{"name":"B"}`, `If-Match: "x"`, "If-None-Match: "+tag).Expect(t, 412, changed)
	p.Do(t, "PATCH", "/api/users/9", `{"name":"B"}`, "If-None-Match: *").Expect(t, 404, noUser)
	program.Expect(t, "the tag of the user", program.ETag(t, p, 1), tag)
	for _, other := range []string{`"x"`, "", `"*"`, `"` + tag, strings.Trim(tag, `"`)} {
		p.Do(t, "PATCH", "/api/users/1", `{"name":"n`+url.QueryEscape(other)+`"}`, "If-None-Match: "+other).Expect(t, 200, "…")
	}
	p.Do(t, "DELETE", "/api/users/1", "", "If-None-Match: "+tag).Expect(t, 204, "") // it was changed meanwhile
}

// A range in a unit that is not known is nothing (RFC 9110, section 14.2).
func TestARangeOfAnUnknownUnitIsIgnored(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, path := range []string{program.CSV, program.NDJSON, "/", "/docs", "/openapi.json", "/api/users"} {
		whole := p.Do(t, "GET", path, "")
		for _, unit := range []string{"items=0-5", "seconds=1-", "x"} {
			answer := p.Do(t, "GET", path, "", "Range: "+unit)
			answer.Expect(t, 200, "…")
			program.Expect(t, "the length of "+path+" with "+unit, len(answer.Body), len(whole.Body))
		}
	}
	p.Do(t, "GET", program.CSV, "", "Range: bytes=0-4").Expect(t, 206, "id,na")
}

// Each word is looked for in each field.
func TestASearchMayHave100WordsAndAsManyFieldsAsThereMayBe(t *testing.T) {
	t.Parallel()
	var fields, words []string
	for i := range 32 {
		fields = append(fields, fmt.Sprintf("f%d", i))
	}
	for i := range 500 {
		words = append(words, string(rune(0x4e00+i)))
	}
	p := program.Serve(t, "USER_FIELDS="+strings.Join(fields, ","))
	p.Do(t, "POST", "/api/users", `{"name":"`+strings.Join(words[:50], "")+`","email":"a@x","f31":"`+strings.Join(words[50:100], "")+`"}`).Expect(t, 201, "…")
	for i, ids := range map[int]int{100: 1, 101: -1, 500: -1} {
		answer := p.Do(t, "GET", "/api/users?q="+url.QueryEscape(strings.Join(words[:i], " ")), "")
		if ids < 0 {
			answer.Expect(t, 400, `{"error":"The parameter q must be words…, and at most 100 of them"}`)
		} else {
			program.Expect(t, "how many are found", len(answer.Users(t)), ids)
		}
	}
}

// Phones write other apostrophes, and what was pasted may have characters that nobody sees.
func TestApostrophesAreTheSameAndWhatIsNotSeenIsNothing(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	for i, name := range []string{"Sean O'Neill", "Sean O’Neill", "Sean O‘Neill", "\ufeffSean O\u200b'Neill", "Sean ONeill"} {
		p.Create(t, name, fmt.Sprint(i+1, "@x"))
	}
	for _, q := range []string{"o'neill", "o’neill", "O‘NEILL", "\ufeffsean\u200b o'ne\u200bill"} {
		program.Expect(t, "how many "+q+" finds", len(p.Do(t, "GET", "/api/users?q="+url.QueryEscape(q), "").Users(t)), 4)
	}
	p.Do(t, "GET", "/api/users?q=%E2%80%8B", "").Expect(t, 200, "[]")
	p.Do(t, "GET", "/api/users?sort=name&limit=9", "").Expect(t, 200, `[{"id":1,…},{"id":2,…},{"id":3,…},{"id":4,…},{"id":5,…}]`)
	p.Do(t, "GET", "/api/users?name="+url.QueryEscape("Sean O’Neill"), "").Expect(t, 200, `[{"id":2,…}]`)
}
