package controllers

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// creations are bodies, and what a creation takes from each.
var creations = []struct{ name, text, wantName, wantEmail, refusal string }{
	{name: "both", text: `{"name":"A","email":"a@b"}`, wantName: "A", wantEmail: "a@b"},
	{name: "unknown keys, an id and a time are ignored",
		text: `{"id":7,"created_at":"x","admin":{"name":1},"email":"a@b","name":"A"}`, wantName: "A", wantEmail: "a@b"},
	{name: "escaped keys", text: `{"n\u0061me":"A","\u0065mail":"a@b"}`, wantName: "A", wantEmail: "a@b"},
	{name: "escaped text",
		text: `{"name":"<\u00e9\ud83d\ude00\"\\>","email":"\t"}`, wantName: `<é😀"\>`, wantEmail: "\t"},
	{name: "the last of two counts",
		text: `{"name":5,"email":"x","name":"A","email":"a@b"}`, wantName: "A", wantEmail: "a@b"},
	{name: "the last of two is empty",
		text: `{"name":"A","email":"x","name":""}`, refusal: required},
	{name: "no email", text: `{"name":"A"}`, refusal: required},
	{name: "no name", text: `{"email":"A"}`, refusal: required},
	{name: "an empty name", text: `{"name":"","email":"a@b"}`, refusal: required},
	{name: "an email that is null", text: `{"name":"A","email":null}`, refusal: required},
	{name: "nothing", text: ``, refusal: required},
	{name: "keys in another case", text: `{"Name":"A","EMAIL":"a@b"}`, refusal: required},
	{name: "a number", text: `{"name":5,"email":"a@b"}`, refusal: "The field name must be a string, not a number"},
	{name: "an object", text: `{"name":"A","email":{}}`, refusal: "The field email must be a string, not an object"},
	{name: "an array", text: `{"name":"A","email":[]}`, refusal: "The field email must be a string, not an array"},
	{name: "true", text: `{"name":true,"email":"a"}`, refusal: "The field name must be a string, not true or false"},
	{name: "no object", text: `[]`, refusal: "The request body must be a JSON object, not an array"},
}

func TestACreationTakesNameAndEmailAndNothingElse(t *testing.T) {
	for _, sent := range creations {
		t.Run(sent.name, func(t *testing.T) {
			got := creation{fields: fields}
			err := oneObject{}.BindBody([]byte(sent.text), &got)
			if sent.refusal != "" && (err == nil || err.Error() != sent.refusal) {
				t.Errorf("got %v, want %s", err, sent.refusal)
			}
			if sent.refusal == "" && (err != nil || !sameValues(got.User, newUser(sent.wantName, sent.wantEmail))) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// BenchmarkBinding is the part of a creation that reads its body.
func BenchmarkBinding(b *testing.B) {
	for _, bench := range []struct{ name, text string }{
		{"short", `{"name":"Ada Lovelace","email":"ada.lovelace@example.org"}`},
		{"escaped", `{"name":"Ada \"Lovelace\"","email":"ada.lovelace@example.org"}`},
		{"1 MB", `{"name":"` + strings.Repeat("a", 1_000_000) + `","email":"ada.lovelace@example.org"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			request, text := &http.Request{}, []byte(bench.text)
			b.ReportAllocs()
			for b.Loop() {
				sent := creation{fields: fields}
				request.Body = io.NopCloser(bytes.NewReader(text))
				if err := (oneObject{}).Bind(request, &sent); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
