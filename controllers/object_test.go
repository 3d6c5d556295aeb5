package controllers

import (
	"encoding/json"
	"maps"
	"testing"
)

// objects are objects in every form that JSON allows.
var objects = []string{
	`{}`, ` { } `, "\t{\r\n}", `{"a":1}`, ` { "a" : 1 , "b" : "x" } `, "{\"a\"\n:\n1\n}",
	`{"a":1,"a":2}`, `{"a":{"b":[1,{"c":"}"}]},"d":[",","]"]}`, `{"a":"\"","b":"\\"}`, `{"a":"\\\"}","b":1}`,
	`{"\u006eame":"A","":null,"é":"\ud83d\ude00"}`, `{"a":"\\ud800"}`, `{"a":[],"b":{},"c":true,"d":-1.5e+3}`,
	`{"\"":"\u0000"}`, `{"a" : [ 1 , 2 ] , "b":"" }`,
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

// FuzzObject compares what is accepted, and what is found in it, with encoding/json.
func FuzzObject(f *testing.F) {
	for _, text := range objects {
		if _, err := parseObject([]byte(text)); err != nil {
			f.Errorf("%q is refused: %v", text, err)
		}
		f.Add(text)
	}
	f.Fuzz(compareFields)
}
