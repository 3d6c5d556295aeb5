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

// changes are bodies, and what each makes of Ada: by PATCH and by PUT.
var changes = []struct{ name, text, patch, put string }{
	{"nothing", ``, "", required},
	{"null", `null`, "", required},
	{"an empty object", `{}`, "", required},
	{"a name", `{"name":"B"}`, "name=B", required},
	{"an email", `{"email":"b@c"}`, "email=b@c", required},
	{"both", `{"email":"b@c","name":"B"}`, "name=B email=b@c", "name=B email=b@c"},
	{"the last of two", `{"email":"b@c","name":null,"name":"B"}`, "name=B email=b@c", "name=B email=b@c"},
	{"white space", `{"email":"\t","name":" "}`, "name=  email=\t", "name=  email=\t"},
	{"a name that is null", `{"name":null,"email":"b@c"}`, required, required},
	{"an email that is null", `{"name":"B","email":null}`, required, required},
	{"an empty name", `{"name":"","email":"b@c"}`, required, required},
	{"an empty email", `{"name":"B","email":""}`, required, required},
	{"a number", `{"name":5,"email":"b@c"}`, noText, noText},
	{"what was read", `{"id":7,"name":"Ada","email":"ada@example.org","created_at":"2026-11-20 15:42:07"}`,
		"name=Ada email=ada@example.org", "name=Ada email=ada@example.org"},
	{"a time in escapes", `{"created_at":"2026\u002d11-20 15:42:07"}`, "", required},
	{"another id", `{"id":8,"name":"B","email":"b@c"}`, fixed, fixed},
	{"an id as text", `{"id":"7","name":"B","email":"b@c"}`, fixed, fixed},
	{"an id that is null", `{"id":null,"name":"B","email":"b@c"}`, fixed, fixed},
	{"another time", `{"created_at":"2026-11-20 15:42:08","name":"B","email":"b@c"}`, fixed, fixed},
	{"a time that is null", `{"created_at":null,"name":"B","email":"b@c"}`, fixed, fixed},
	{"a time that is a digit", `{"created_at":7,"name":"B","email":"b@c"}`, fixed, fixed},
	{"a time that is a number", `{"created_at":2026,"name":"B","email":"b@c"}`, fixed, fixed},
	{"an unknown key", `{"nmae":"B"}`, unknown("nmae"), unknown("nmae")},
	{"a key in another case", `{"Name":"B","email":"b@c"}`, unknown("Name"), unknown("Name")},
	{"an empty key", `{"":1}`, unknown(""), unknown("")},
	{"a long key", `{"` + strings.Repeat("k", 1000) + `":1}`, unknown(cutKey), unknown(cutKey)},
	{"no object", `[]`, noObject, noObject},
	{"half a character", `{"name":"\ud800"}`, halfOfACharacter, halfOfACharacter},
}

func TestAChangeIsWhatItsBodySays(t *testing.T) {
	for _, sent := range changes {
		t.Run(sent.name, func(t *testing.T) {
			if got := outcome(sent.text, change{fields: fields}); got != sent.patch {
				t.Errorf("PATCH: got %q, want %q", got, sent.patch)
			}
			if got := outcome(sent.text, change{fields: fields, whole: true}); got != sent.put {
				t.Errorf("PUT: got %q, want %q", got, sent.put)
			}
		})
	}
}

const (
	fixed    = "id and created_at cannot be changed"
	noText   = "The field name must be a string, not a number"
	noObject = "The request body must be a JSON object, not an array"
)

// cutKey is what is named of a key of 1,000 bytes.
var cutKey = strings.Repeat("k", 60) + "…"

const halfOfACharacter = `The request body has half of a character: \ud800 to \udfff must come in pairs`

func unknown(key string) string {
	return `Unknown key "` + key + `": ` + changeable
}

// outcome is what a body makes of Ada, or why not.
func outcome(text string, sent change) string {
	err := oneObject{}.BindBody([]byte(text), &sent)
	if err == nil {
		err = sent.allows(ada)
	}
	if err != nil {
		return err.Error()
	}
	var changed []string
	for field := range fields.In(sent.Fields) {
		if text := field.Value(&sent.User); text != nil {
			changed = append(changed, field.Name+"="+*text)
		}
	}
	return strings.Join(changed, " ")
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
		if err := (oneObject{}).BindBody(text, &sent); err != nil {
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
		if err := sent.allows(ada); err == nil && want["id"] != nil && want["id"] != 7.0 {
			t.Errorf("%q changes the id", text)
		}
	})
}
