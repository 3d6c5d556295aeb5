package controllers

import (
	"cmp"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"users-api/models"
)

// plainReference is what may stand between < and > in a Link header.
var plainReference = regexp.MustCompile(`^\?[!-;=?-~]*$`)

// FuzzSearch sends any query string. What is accepted means what url.ParseQuery reads, and the next page asks for the
// same from another user on; what is refused names no part of Go.
func FuzzSearch(f *testing.F) {
	for _, query := range []string{
		"limit=100&after=900", "email=ada%40example.org", "q=%25_&order=desc", "count=true&q=a+b", "limit=1&limit=2",
		"sort=name&limit=1", "sort=id&limit=1",
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
		place := models.Place{ID: -9}
		if asked.Sort != "" {
			place.Key = "ämil \x00 \"<b>"
		}
		next := asked.next(place)
		if !plainReference.MatchString(next) {
			t.Errorf("%q does not fit into a header", next)
		}
		again, err := listParameters(fields).parse(next[1:])
		if err != nil || *again.After != place || again.Sort != asked.Sort || again.Contains != asked.Contains || again.Limit != asked.Limit ||
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
	case name == "sort":
		return cmp.Or(asked.Sort, "id")
	case name == "limit":
		return strconv.Itoa(asked.Limit)
	case name == "after" && asked.After != nil:
		return asked.after
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
