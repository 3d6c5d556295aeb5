package controllers

import (
	"errors"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/models"
	"users-api/tests/program"
)

// plainReference is what may stand between < and > in a Link header.
var plainReference = regexp.MustCompile(`^<\?([!-;=?-~]*)>; rel="next"$`)

// FuzzSearch sends any query string. What is accepted means what url.ParseQuery reads, and the next page asks for the
// same from another user on; what is refused names no part of Go.
func FuzzSearch(f *testing.F) {
	for _, query := range []string{
		"limit=100&after=900", "email=ada%40example.org", "q=%25_&order=desc", "count=true&q=a+b", "limit=1&limit=2",
		"sort=name&limit=1", "sort=id&limit=1", "id=1&id=2&name!=&email%21=a", "created_from=2026-01-01&created_to=2026-01-01T00:00:00Z",
		"q=%zz", "nmae=1", "&", "q=a;b", "q=%00", `q=<">`, "",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		asked, err := parseList(listParameters(fields), query)
		if err != nil {
			refusal, _ := errors.AsType[*Error](err)
			program.Expect(t, "the status", refusal.Status(), 400)
			says := quotedByUs.ReplaceAllString(refusal.Message, "")
			program.Forbid(t, says, "json:", "strconv", "unmarshal", "invalid URL", "EOF", "models.", "<nil>")
			return
		}
		values, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
		if err != nil {
			t.Fatalf("%q was accepted: %v", query, err)
		}
		for _, sent := range asked.sent {
			if texts := values[sent.name]; !slices.Contains(texts, sent.value) {
				t.Errorf("%q: %s is %q, want %q", query, sent.name, sent.value, texts)
			}
		}
		place := models.Place{ID: -9}
		if asked.Sort != "" {
			place.Key = "ämil \x00 \"<b>"
		}
		next := plainReference.FindStringSubmatch(asked.next(place))
		if next == nil {
			t.Fatalf("%q does not fit into a header", asked.next(place))
		}
		again, err := parseList(listParameters(fields), next[1])
		if err != nil || *again.After != place {
			t.Fatalf("%q continues with %q: %+v, %v", query, next, again.After, err)
		}
		asked.sent, asked.After = nil, nil
		again.sent, again.After = nil, nil
		if !reflect.DeepEqual(again, asked) {
			t.Errorf("%q continues with %q: %+v, want %+v", query, next, again, asked)
		}
	})
}

// quotedByUs is a name that the client made up, in a sentence of ours.
var quotedByUs = regexp.MustCompile(`(?s)".*"`)
