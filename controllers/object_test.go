package controllers

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// noObjects are texts, and why each is not one JSON object.
var noObjects = []struct{ name, text, want string }{
	{"half an object", `{"name":"A"`, "The request body is not valid JSON: see byte 11"},
	{"a form", `name=A`, "The request body is not valid JSON: see byte 2"},
	{"a form after blanks", "\n name=A", "The request body is not valid JSON: see byte 4"},
	{"text after the object", `{} x`, "The request body is not valid JSON: see byte 4"},
	{"two objects", `{}{}`, "The request body is not valid JSON: see byte 3"},
	{"a space of another script around the object", "\u00a0{}", "The request body is not valid JSON: see byte 1"},
	{"nesting without end", strings.Repeat("[", 20_000), "The request body is not valid JSON: see byte 10001"},
	{"an array", `[{}]`, "The request body must be a JSON object, not an array"},
	{"a string", `"A"`, "The request body must be a JSON object, not a string"},
	{"a number", `-1.5e3`, "The request body must be a JSON object, not a number"},
	{"true", `true`, "The request body must be a JSON object, not true or false"},
	{"false", ` false `, "The request body must be a JSON object, not true or false"},
	{"bytes that are not UTF-8", "{\"name\":\"\xff\"}", "The request body is not UTF-8 text"},
	{"the bytes of half a character", "{\"name\":\"\xed\xa0\x80\"}", "The request body is not UTF-8 text"},
	{"a first half alone", `{"name":"\ud800"}`, halfOfACharacter},
	{"a second half alone", `{"name":"\udc00"}`, halfOfACharacter},
	{"a first half before text", `{"name":"\uD83Dx"}`, halfOfACharacter},
	{"a first half before another escape", `{"name":"\ud83d\n"}`, halfOfACharacter},
	{"two first halves", `{"name":"\ud83d\ud83d\ude00"}`, halfOfACharacter},
	{"halves in the wrong order", `{"name":"\ude00\ud83d"}`, halfOfACharacter},
	{"half a character in an unknown key", `{"\udfff":1}`, halfOfACharacter},
	{"half a character deep within", `{"a":[{"b":"\ud800"}]}`, halfOfACharacter},
	{"half a character after an escaped backslash", `{"name":"\\\ud800"}`, halfOfACharacter},
}

func TestWhatIsNotOneObjectIsRefusedInTheClientsWords(t *testing.T) {
	for _, refused := range noObjects {
		t.Run(refused.name, func(t *testing.T) {
			if _, err := parseObject([]byte(refused.text)); err == nil || err.Error() != refused.want {
				t.Errorf("%.80s: %v, want %s", refused.text, err, refused.want)
			}
		})
	}
}

// objects are objects in every form that JSON allows.
var objects = []string{
	`{}`, ` { } `, "\t{\r\n}", `{"a":1}`, ` { "a" : 1 , "b" : "x" } `, "{\"a\"\n:\n1\n}",
	`{"a":1,"a":2}`, `{"a":{"b":[1,{"c":"}"}]},"d":[",","]"]}`, `{"a":"\"","b":"\\"}`, `{"a":"\\\"}","b":1}`,
	`{"\u006eame":"A","":null,"é":"\ud83d\ude00"}`, `{"a":"\\ud800"}`, `{"a":[],"b":{},"c":true,"d":-1.5e+3}`,
	`{"\"":"\u0000"}`, `{"a" : [ 1 , 2 ] , "b":"" }`,
}

func TestTheFieldsOfAnObjectAreWhatEncodingJSONFinds(t *testing.T) {
	for _, text := range objects {
		if _, err := parseObject([]byte(text)); err != nil {
			t.Errorf("%q is refused: %v", text, err)
		}
		compareFields(t, text)
	}
}

func compareFields(t *testing.T, text string) {
	t.Helper()
	sent, err := parseObject([]byte(text))
	if err != nil {
		return
	}
	got, want := map[string]string{}, map[string]string{}
	for name, value := range sent.fields() {
		got[name] = string(value)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(sent), &fields); err != nil {
		t.Fatalf("%q was accepted: %v", text, err)
	}
	for name, value := range fields {
		want[name] = string(value)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%q has %q, want %q", text, got, want)
	}
}

func TestABlankBodyAndNullAreAnObjectWithoutFields(t *testing.T) {
	for _, text := range []string{"", " \n\t\r", "null", " null ", "{}"} {
		sent, err := parseObject([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for name := range sent.fields() {
			t.Errorf("%q has a field %q", text, name)
		}
	}
}

// FuzzObject compares what is accepted, and what is found in it, with encoding/json.
func FuzzObject(f *testing.F) {
	for _, text := range objects {
		f.Add(text)
	}
	f.Fuzz(compareFields)
}
