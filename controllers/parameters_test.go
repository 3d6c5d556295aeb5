package controllers

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// badValues are what each parameter may not be.
var badValues = []struct{ name, expects, values string }{
	{"limit", "a whole number from 1 to 1000",
		"|0|1001|-1|1.0|1e2|010|%2b1|+1|ten|99999999999999999999|4294967297|1;after=2|5%20"},
	{"after", "the id of a user", "|x|1.5|01|-0|+1|9223372036854775808"},
	{"order", "asc or desc", "|ASC|up|asc,desc"},
	{"count", "true", "|false|1|True"},
	{"q", anyField, "|%ff|%ed%a0%80|" + strings.Repeat("%C3%A9", 1001)},
	{"email", "the whole email of a user, in UTF-8", "|%ff"},
}

func TestAParameterThatIsNotUnderstoodIsRefusedByName(t *testing.T) {
	for _, bad := range badValues {
		sentence := "The parameter " + bad.name + " must be "
		refuse(t, bad.name, sentence+bad.expects)
		for value := range strings.SplitSeq(bad.values, "|") {
			refuse(t, bad.name+"="+value, sentence+bad.expects)
		}
		for _, value := range []string{"%", "1%", "%zz", "%1"} {
			refuse(t, bad.name+"="+value, sentence+bad.expects+", with each % of it written as %25")
		}
	}
	for query, sentence := range map[string]string{
		"limit=1&limit=1":       "The parameter limit must be given once, as a whole number from 1 to 1000",
		"q=a&limit=5&q=b":       "The parameter q must be given once, as " + anyField,
		"email=a&%65mail=b":     "The parameter email must be given once, as the whole email of a user, in UTF-8",
		"after=1&after=":        "The parameter after must be given once, as the id of a user",
		"order=asc&order=desc":  "The parameter order must be given once, as asc or desc",
		"count=true&count=true": "The parameter count must be given once, as true",
	} {
		refuse(t, query, sentence)
	}
	for query, name := range map[string]string{
		"nmae=ada": "nmae", "Email=a": "Email", "email[]=a": "email[]", "=1": "", "&": "", "limit=1&": "",
		"?limit=1": "?limit", "%zz=1": "%zz", "%6eame=1": "name", strings.Repeat("é", 1000): strings.Repeat("é", 60) + "…",
	} {
		refuse(t, query, `Unknown parameter "`+name+`": `+listTakes)
	}
}

func refuse(t *testing.T, query, sentence string) {
	t.Helper()
	if _, err := listParameters(fields).parse(query); err == nil || err.Error() != sentence {
		t.Errorf("%.60s\n got %v\nwant %s", query, err, sentence)
	}
}

func TestParametersMeanWhatWasSent(t *testing.T) {
	asked, err := listParameters(fields).parse("email=a%2Bb%40c&q=50%25+off_&limit=1000&after=-7&order=desc&count=true")
	if err != nil {
		t.Fatal(err)
	}
	if sentValue(asked, "email") != "a+b@c" || asked.Contains != "50% off_" || asked.Limit != 1000 || *asked.After != -7 ||
		!asked.Descending || !asked.Query.Count {
		t.Errorf("got %+v", asked)
	}
	want := "?email=a%2Bb%40c&q=50%25+off_&limit=1000&order=desc&count=true&after=42"
	if got := asked.next(42); got != want {
		t.Errorf("the next page is %s, want %s", got, want)
	}
	if asked, err = listParameters(fields).parse("limit=1&order=asc"); err != nil || asked.Limit != 1 || asked.Descending ||
		asked.Equal.Fields != 0 || asked.After != nil || asked.Query.Count || asked.Contains != "" {
		t.Errorf("got %+v, %v", asked, err)
	}
	if got := asked.next(-1); got != "?limit=1&order=asc&after=-1" {
		t.Errorf("the next page is %s", got)
	}
}

// plainReference is what may stand between < and > in a Link header.
var plainReference = regexp.MustCompile(`^\?[!-;=?-~]*$`)

// FuzzSearch sends any query string. What is accepted means what url.ParseQuery reads, and the next page asks for the
// same from another user on; what is refused names no part of Go.
func FuzzSearch(f *testing.F) {
	for _, query := range []string{
		"limit=100&after=900", "email=ada%40example.org", "q=%25_&order=desc", "count=true&q=a+b", "limit=1&limit=2",
		"q=%zz", "nmae=1", "&", "q=a;b", "q=%00", `q=<">`, "",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		asked, err := listParameters(fields).parse(query)
		if err != nil {
			checkWords(t, err)
			return
		}
		values, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
		if err != nil {
			t.Fatalf("%q was accepted: %v", query, err)
		}
		for name, texts := range values {
			if got := sentValue(asked, name); len(texts) != 1 || got != texts[0] {
				t.Errorf("%q: %s is %q", query, name, got)
			}
		}
		next := asked.next(-9)
		if !plainReference.MatchString(next) {
			t.Errorf("%q does not fit into a header", next)
		}
		again, err := listParameters(fields).parse(next[1:])
		if err != nil || *again.After != -9 || again.Contains != asked.Contains || again.Limit != asked.Limit ||
			again.Descending != asked.Descending || again.Query.Count != asked.Query.Count ||
			sentValue(again, "email") != sentValue(asked, "email") {
			t.Errorf("%q continues with %q: %v", query, next, err)
		}
	})
}

// sentValue writes what was understood as it was sent.
func sentValue(asked request, name string) string {
	if field := fields.Find(name); field != nil {
		return *field.Value(&asked.Equal.User)
	}
	switch {
	case name == "q":
		return asked.Contains
	case name == "limit":
		return strconv.Itoa(asked.Limit)
	case name == "after" && asked.After != nil:
		return strconv.FormatInt(*asked.After, 10)
	case name == "order" && asked.Descending:
		return "desc"
	case name == "order":
		return "asc"
	case name == "count" && asked.Query.Count:
		return "true"
	}
	return ""
}

// goWords are what only a person who knows Go understands.
var goWords = regexp.MustCompile(`json:|strconv|unmarshal|invalid URL|EOF|models\.|controllers\.|\*errors|<nil>`)

// quotedByUs is a name that the client made up, in a sentence of ours.
var quotedByUs = regexp.MustCompile(`(?s)".*"`)

func checkWords(t *testing.T, err error) {
	t.Helper()
	refusal, ok := err.(*Error) //nolint:errorlint // nothing wraps it here
	if !ok || refusal.Status() != 400 || refusal.Message == "" {
		t.Fatalf("%T %v is not for a client", err, err)
	}
	if text := quotedByUs.ReplaceAllString(refusal.Message, ""); goWords.MatchString(text) {
		t.Errorf("a client sees Go: %s", text)
	}
}

// Characters count, and not bytes.
func TestALongTextIsLookedForUpToItsLimit(t *testing.T) {
	longest := strings.Repeat("é", maxContains)
	if asked, err := listParameters(fields).parse("q=" + url.QueryEscape(longest)); err != nil || asked.Contains != longest {
		t.Errorf("got a text of %d bytes, %v", len(asked.Contains), err)
	}
}
