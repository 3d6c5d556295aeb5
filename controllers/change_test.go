package controllers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"users-api/models"
)

// ada is the user that the changes are tried on.
var ada = models.User{
	ID: 7, NewUser: newUser("Ada", "ada@example.org"), CreatedAt: "2026-11-20 15:42:07",
}

// FuzzChange sends any bytes as the body of a change of a user with an added field. What is accepted means what
// encoding/json reads.
func FuzzChange(f *testing.F) {
	fields := models.NewFields("fax")
	for _, text := range append(
		objects, `{"name":"B","email":"b@c"}`, `{"name":null}`, `{"nmae":""}`, `{"id":7}`, `x`, "\xff", `{"name":"\ud800"}`,
		`{"name":"B","email":"b@c","fax":null}`, `{"fax":""}`, `{"fax":"1","fax":5}`, `{"fax":5,"fax":"1"}`,
	) {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, whole bool) {
		sent := change{fields: fields, whole: whole}
		body, err := parseObject(text)
		if err == nil {
			err = sent.take(body)
		}
		if err != nil {
			checkWords(t, err)
			return
		}
		var want map[string]any
		if len(strings.Trim(string(text), " \t\r\n")) > 0 {
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatalf("%q was accepted: %v", text, err)
			}
		}
		for _, field := range fields {
			var got any
			if text := field.Value(&sent.User); text != nil {
				got = *text
			}
			was, isSent := want[field.Name]
			isSet := sent.Fields.Has(field)
			if isSet != (isSent || whole) || isSet && (got != was || field.Required && got == "") {
				t.Errorf("%s was %v and is %v", field.Name, was, got)
			}
		}
		for key := range want {
			if !slices.Contains(fields.Columns(), key) {
				t.Errorf("%q has the key %q", text, key)
			}
		}
		if allow := sent.condition(nil); want["id"] != nil && want["id"] != 7.0 && (allow == nil || allow(ada) == nil) {
			t.Errorf("%q changes the id", text)
		}
	})
}
