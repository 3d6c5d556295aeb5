package controllers

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// objects are objects in every form that JSON allows.
var objects = []string{
	`{}`, ` { } `, "\t{\r\n}", `{"a":1}`, ` { "a" : 1 , "b" : "x" } `, "{\"a\"\n:\n1\n}",
	`{"a":1,"a":2}`, `{"a":{"b":[1,{"c":"}"}]},"d":[",","]"]}`, `{"a":"\"","b":"\\"}`, `{"a":"\\\"}","b":1}`,
	`{"\u006eame":"A","":null,"é":"\ud83d\ude00"}`, `{"a":"\\ud800"}`, `{"a":[],"b":{},"c":true,"d":-1.5e+3}`,
	`{"\"":"\u0000"}`, `{"a" : [ 1 , 2 ] , "b":"" }`,
}

// FuzzChange sends any bytes as the body of a change of a user with an added field. What is accepted means what
// encoding/json reads.
func FuzzChange(f *testing.F) {
	fields := models.NewFields("fax")
	for _, text := range append(
		objects, `{"name":"B","email":"b@c"}`, `{"name":null}`, `{"nmae":""}`, `{"id":7}`, `x`, "\xff", `{"name":"\ud800"}`,
		`{"name":"B","email":"b@c","fax":null}`, `{"fax":""}`, `{"fax":"1","fax":5}`, `{"fax":5,"fax":"1"}`,
		"\ufeff{}", "\ufeff",
	) {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, whole bool) {
		sent := sentChange{sentUser: sentUser{fields: fields}, whole: whole}
		if err := (OneObject{}).BindBody(text, &sent); err != nil {
			checkWords(t, err)
			return
		}
		var want map[string]any
		if text = bytes.TrimPrefix(text, []byte(byteOrderMark)); len(strings.Trim(string(text), " \t\r\n")) > 0 {
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatalf("%q was accepted: %v", text, err)
			}
		}
		for _, field := range fields {
			var got any
			if text := field.Value(&sent.Profile); text != nil {
				got = *text
			}
			was, isSent := want[field.Name]
			isSet := sent.Given.Has(field)
			if isSet != (isSent || whole) || isSet && (got != was || field.Required && got == "") {
				t.Errorf("%s was %v and is %v", field.Name, was, got)
			}
		}
		for key := range want {
			if !slices.Contains(fields.Columns(), key) {
				t.Errorf("%q has the key %q", text, key)
			}
		}
		allow := sent.precondition(nil)
		if id := want["id"]; id != nil && id != 7.0 && (allow == nil || allow(models.User{ID: 7}) == nil) {
			t.Errorf("%q changes the id", text)
		}
	})
}

// plainReference is what may stand between < and > in a Link header.
var plainReference = regexp.MustCompile(`^\?[!-;=?-~]*$`)

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
			checkWords(t, err)
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
		next := asked.next(place)
		if !plainReference.MatchString(next) {
			t.Errorf("%q does not fit into a header", next)
		}
		again, err := parseList(listParameters(fields), next[1:])
		if err != nil || *again.After != place {
			t.Fatalf("%q continues with %q: %+v, %v", query, next, again.After, err)
		}
		asked.sent, asked.After, asked.after = nil, nil, ""
		again.sent, again.After, again.after = nil, nil, ""
		if !reflect.DeepEqual(again, asked) {
			t.Errorf("%q continues with %q: %+v, want %+v", query, next, again, asked)
		}
	})
}

// goWords are what only a person who knows Go understands.
var goWords = regexp.MustCompile(`json:|strconv|unmarshal|invalid URL|EOF|models\.|database\.[A-Z]|controllers\.|\*errors|<nil>`)

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
