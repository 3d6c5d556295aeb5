package api

import (
	"fmt"
	"strings"
	"testing"

	"users-api/tests/program"
)

// readable starts a program with the users that the tests of this file look for.
func readable(t testing.TB) *program.Program {
	t.Helper()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Insert(fmt.Sprintf(`INSERT INTO users (id, name, email, created_at) VALUES
		(2, 'Alan Turing', 'alan@example.org', '2024-01-02 03:04:05'),
		(3, 'Grace Hopper', 'grace@example.com', '2024-01-02 03:04:05'),
		(4, '100%% sure_ \ly', 'percent+sign@example.org', '2024-01-02 03:04:05'),
		(5, 'ÄRGER', 'kelvin@example.org', '2024-01-02 03:04:05'),
		(7, 'a' || %s || 'b', '', NULL),
		(1, 'Ada Lovelace', 'ada@example.org', '2024-01-02 03:04:05')`, nul))
	return p
}

// What parameters find: ids in order, and the header X-Total-Count.
var searches = []struct{ name, query, ids, total string }{
	{"an email in another letter case is another email", "email=Ada@example.org", "", ""},
	{"a plus in an email is escaped", "email=percent%2Bsign@example.org", "4", ""},
	{"a plus that is not escaped is a space", "email=percent+sign@example.org", "", ""},

	{"a part of a name is found", "q=lovelace", "1", ""},
	{"a part of either is found", "q=a", "1 2 3 4 5 7", ""},
	{"every word of a text is in some field", "q=ORG+lovelace", "1", ""},
	{"a percent sign is text", "q=%25", "4", ""},
	{"the end of a name and the beginning of an email are not one text", "q=lovelaceada", "", ""},
	{"a control character is text", "q=" + nulEscaped + "b", "7", ""},
	{"a letter is found without its accent", "q=arger", "5", ""},
	{"an accent alone is no word, and found in nobody", "q=%CC%88", "", ""},
	{"characters are counted, and not bytes", "q=" + strings.Repeat("%C3%A9", 1000), "", ""},

	{"an id is found", "id=3", "3", ""},
	{"any of several ids are found, in the order of the list", "id=5&id=1&id=6&id=5", "1 5", ""},
	{"a name is found exactly", "name=Ada+Lovelace", "1", ""},
	{"a part of a name, or another case, is another name", "name=Ada&name=ada+lovelace", "", ""},
	{"an empty value finds users without one", "email=", "7", ""},
	{"none of several names", "name!=Ada+Lovelace&name!=Grace+Hopper&count=true&limit=2&order=desc", "7 5", "4"},
	{"any email at all", "email!=", "1 2 3 4 5", ""},
	{"created within a day", "created_from=2024-01-02&created_to=2024-01-03&count=true&limit=1", "1", "5"},

	{"without a parameter come all users, by id", "", "1 2 3 4 5 7", ""},
	{"an empty pair is none", "&", "1 2 3 4 5 7", ""},
	{"after comes after", "after=3", "4 5 7", ""},
	{"after goes with the order", "order=desc&after=3", "2 1", ""},

	{"users are sorted by name without case and accents", "sort=name&limit=10", "4 7 1 2 5 3", ""},
	{"and from the last to the first", "sort=name&limit=10&order=desc", "3 5 2 1 7 4", ""},
	{"an empty text comes first", "sort=email&limit=3", "7 1 2", ""},
	{"users with equal values come by id", "sort=created_at&limit=10", "7 1 2 3 4 5", ""},
	{"users who match are sorted", "sort=name&q=example.org&limit=2&count=true&order=desc", "5 2", "4"},

	{"the count has no limit", "count=true&limit=1", "1", "6"},

	{"all may be combined", "q=A&limit=2&after=5&order=desc&count=true", "4 3", "6"},
}

// A file has the users that the list has.
func TestParametersFindUsers(t *testing.T) {
	t.Parallel()
	p := readable(t)
	list := program.RawUsers(t, p.Do(t, "GET", "/api/users", ""))
	for _, s := range searches {
		t.Run(s.name, func(t *testing.T) {
			answer := p.Do(t, "GET", "/api/users?"+s.query, "")
			var want []string
			for id := range strings.FieldsSeq(s.ids) {
				want = append(want, list[id])
			}
			answer.Expect(t, 200, "["+strings.Join(want, ",")+"]")
			program.ExpectHeader(t, answer, "X-Total-Count", s.total)
			file := p.Do(t, "GET", program.NDJSON+"?"+s.query, "")
			file.Expect(t, 200, strings.Join(append(want, ""), "\n"))
			for _, name := range []string{"X-Total-Count", "Link"} {
				program.ExpectHeader(t, file, name, answer.Header.Get(name))
			}
			program.ExpectHeader(t, answer, "Content-Type", "application/json; charset=utf-8")
		})
	}
}

// Queries that are refused, with the parameter that the sentence must name, and what it may be; "" if it does not exist.
var badQueries = []struct{ parameter, expects, queries string }{
	{"limit", "a whole number from 1 to 1000", "limit= limit=0 limit=-1 limit=1001 limit=01 limit=1.5 limit=1e2 limit=%2B1 limit=ten limit limit=%zz " +
		"limit=99999999999999999999 limit=5;order=desc limit=1%00 limit=5&limit=5 limit=5&%6Cimit=6"},
	{"after", "the id of a user", "after= after=abc after=1.0 after=01 after=-0 after=%2B1 after=9223372036854775808 after=% after=1&after=2"},
	{"sort", "id, name, email…created_at",
		"sort=&limit=1 sort=Name&limit=1 sort=name,email&limit=1 sort=room&limit=1 sort=id&sort=id"},
	{"order", "asc or desc", "order= order=ASC order=up order=desc,asc order=id order=asc&order=asc"},
	{"count", "true", "count=false count= count=1 count=TRUE count=yes count count=true&count=true"},
	{"email", "the whole email of a user, in UTF-8", "email=%f email=%ff email=a&email=%ff"},
	{"name!", "the whole name of a user, in UTF-8", "name!=%f name%21=%ff"},
	{"id", "the id of a user", "id= id id=01 id=ada id=1.0 id=%2B1 id=1&id=x id=9223372036854775808"},
	{"email", "one of at most 100 values of users in a request", strings.Repeat("name!=a&", 100) + "email=a"},
	{"created_from", "a day or a time in UTC, such as 2026-01-31 or 2026-01-31 12:00:00", "created_from= created_from=2026 created_from=2026-1-1 " +
		"created_from=yesterday created_from=2026-01-01&created_from=2026-01-02"},
	{"created_to", "a day or a time in UTC, …", "created_to=12:00 created_to=%ff"},
	{"q", "words that are parts of …, in UTF-8, of at most 1000 characters", "q= q=+ q=%E3%80%80%0a q=a&q=b q=%zz q=%ff q q=%ed%a0%80 q=" + strings.Repeat("%C3%A9", 1001) + " q=a" + strings.Repeat("+a", 100)},
	{"lmit", "", "lmit=5 limit=5&lmit=5 lmit"},
	{"Limit", "", "Limit=5"},
	{"id!", "", "id!=7"},
	{"created_at", "", "created_at=2024-01-02 limit=1&created_at="},
	{"email[]", "", "email[]=a"},
	{"%zz", "", "%zz=1"},
	{"", "", "=1 = limit=1&="},
}

func TestAParameterThatIsNotUnderstoodIsRefusedByName(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, bad := range badQueries {
		want := `{"error":"The parameter ` + bad.parameter + ` must be …` + bad.expects + `…"}`
		if bad.expects == "" {
			want = program.ErrorBody(program.UnknownParameter(bad.parameter, "a list"))
		}
		for query := range strings.FieldsSeq(bad.queries) {
			p.Do(t, "GET", "/api/users?"+query, "").Expect(t, 400, want)
		}
	}
	const of = "a whole number from 1 to 1000"
	for query, says := range map[string]string{
		"limit=0": "be " + of, "limit=1&limit=1": "be given once, as " + of, "limit=1%": "be " + of + ", with each % of it written as %25",
	} {
		p.Do(t, "GET", "/api/users?"+query, "").Expect(t, 400, program.ErrorBody("The parameter limit must "+says))
	}
}

// The parameters of a list, and the Link to what follows; "" when nothing does.
var links = []struct{ query, link string }{
	{"limit=2", `<?limit=2&after=2>; rel="next"`},
	{"limit=5", `<?limit=5&after=5>; rel="next"`},
	{"limit=6", ""},
	{"limit=2&after=4", ""},
	{"limit=1&after=5&order=desc", `<?limit=1&order=desc&after=4>; rel="next"`},
	{"limit=1&q=example.org&count=true&after=1", `<?limit=1&q=example.org&count=true&after=2>; rel="next"`},
	{"limit=1&id=5&id=1&id=4&email!=&name%21=a", `<?limit=1&id=5&id=1&id=4&email!=&name!=a&after=1>; rel="next"`},
	{"limit=1&created_from=2024-01-02+03:04:05&created_to=2025-01-01", `<?limit=1&created_from=2024-01-02+03%3A04%3A05&created_to=2025-01-01&after=1>; rel="next"`},
	{"q=a", ""},
}

func TestALinkLeadsToTheNextPageWithEveryParameter(t *testing.T) {
	t.Parallel()
	p := readable(t)
	for _, l := range links {
		for _, path := range []string{"/api/users", program.CSV, program.NDJSON} {
			program.ExpectHeader(t, p.Do(t, "GET", path+"?"+l.query, ""), "Link", l.link)
		}
		answer := p.Do(t, "GET", program.CSV+"?spreadsheet=true&"+l.query, "")
		program.ExpectHeader(t, answer, "Link", strings.Replace(l.link, "?", "?spreadsheet=true&", 1))
	}
	p.Create(t, "Q&A + Ä%", "escapes@example.org")
	p.Create(t, "Q&A + Ä%", "escapes2@example.org")
	next := p.Do(t, "GET", "/api/users?limit=1&q=Q%26A+%2B+%C3%84%25", "").Next()
	p.Do(t, "GET", "/api/users"+next, "").Expect(t, 200, `[{…"email":"escapes2@example.org",…}]`)
}

func TestAListOfAnyLengthIsNotCut(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	program.OpenOther(t, p.DatabasePath()).Fill(25_000)
	for query, want := range map[string]int{"q=user": 25_000, "order=desc": 25_000, "after=12345": 12_655} {
		program.Expect(t, "how many users ?"+query+" lists", len(p.Do(t, "GET", "/api/users?"+query, "").Users(t)), want)
	}
}

func TestASortedListIsReadPageByPageWhileUsersComeAndGo(t *testing.T) {
	t.Parallel()
	for order, names := range map[string][]string{
		"asc":  {"ada", "Ada", "Bea", "Émile", "emile", "Łukasz", "Zoe", "zoe", "😀"},
		"desc": {"😀", "zoe", "Zoe", "Łukasz", "emile", "Émile", "Bea", "Ada", "ada"},
	} {
		p := program.Serve(t)
		for i, name := range []string{"ada", "Ada", "Bea", "Łukasz", "Émile", "Zoe", "zoe", "emile", "😀"} {
			p.Create(t, name, fmt.Sprint(i))
		}
		first, last := "!", "🙂"
		if order == "desc" {
			first, last = last, first
		}
		var got []string
		next := "?sort=name&limit=2&order=" + order
		for page := 0; next != ""; page++ {
			answer := p.Do(t, "GET", "/api/users"+next, "")
			users := answer.Users(t)
			for _, user := range users {
				got = append(got, user.Name)
			}
			next = answer.Next()
			switch border := users[len(users)-1].ID; page { // the user behind whom the next page begins
			case 0:
				p.Delete(t, border)
			case 1:
				p.Change(t, border, `{"name":"`+last+`"}`) // comes again: it is another user to whoever reads on
			case 2:
				p.Create(t, first, "before")
			}
		}
		program.Expect(t, "the users, "+order, got, append(names, last))
	}
}

func TestASortThatCannotBeReadPageByPageIsRefused(t *testing.T) {
	t.Parallel()
	p := program.Serve(t)
	p.Create(t, "Ada", "ada")
	p.Create(t, "Bob", "bob")
	_, byName, _ := strings.Cut(p.Do(t, "GET", "/api/users?sort=name&limit=1", "").Next(), "&after=")
	const limit = "The parameter sort must come with limit: users are sorted page by page"
	misplaced := func(sort string) string {
		return "The parameter after must be what the Link of a page with sort=" + sort + " says"
	}
	for query, want := range map[string]string{
		"sort=name": limit, "sort=id&order=desc&q=a": limit,
		"sort=name&limit=1&after=1":               misplaced("name"),
		"sort=name&limit=1&after=" + byName + "!": misplaced("name"),
		"sort=email&limit=1&after=" + byName:      misplaced("email"),
		"limit=1&after=" + byName:                 "The parameter after must be the id of a user",
	} {
		for _, path := range []string{"/api/users", program.CSV} {
			p.Do(t, "GET", path+"?"+query, "").Expect(t, 400, program.ErrorBody(want))
		}
	}
	// A place fits both orders, and nobody comes before the first.
	p.Do(t, "GET", "/api/users?sort=name&limit=1&order=desc&after="+byName, "").Expect(t, 200, "[]")
}
