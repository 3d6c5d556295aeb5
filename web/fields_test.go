package web

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"users-api/models"
)

// plain are the fields of the specification.
func plain() models.Fields { return models.NewFields()[:2] }

// more are the fields of a user with two optional ones, of which one has a name that YAML would take for null.
func more() models.Fields {
	ofTheModel := func(field *models.Field) bool { return !field.Required && !field.Added }
	return slices.DeleteFunc(models.NewFields("job_title", "null"), ofTheModel)
}

// odd are fields whose names mean something else in YAML, JavaScript, HTML or the document.
func odd() models.Fields {
	return models.NewFields("null", "true", "yes", "on", "y", "n1", "e1", "constructor", "form", "user", "error", "schema")
}

// describe returns the document of a service with some fields.
func describe(t *testing.T, fields models.Fields) *openapi3.T {
	t.Helper()
	text := body(t, get(Files("1.0", fields)["/openapi.json"], "GET"))
	if strings.Contains(text, "#<") {
		t.Error("the document has an action of the template in it")
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err == nil {
		err = document.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestTheDocumentHasTheFieldsOfAUser(t *testing.T) {
	for _, fields := range []models.Fields{plain(), more(), odd(), models.NewFields("job_title", "updated_at", "room")} {
		document := describe(t, fields)
		names, required := fields.Settable().Names(), fields.RequiredNames()
		fixed := append([]string{"id"}, fields.Times()...)
		byEmail := slices.DeleteFunc(fields.RequiredNames(), func(name string) bool { return name == "email" }) // which the path has
		for name, schema := range map[string]struct{ others, required []string }{
			"User":            {fixed, slices.Concat(names, fixed)},
			"CreatedUser":     {[]string{"id"}, slices.Concat(names, []string{"id"})},
			"NewUser":         {nil, required},
			"UserReplacement": {fixed, byEmail},
			"UserChange":      {fixed, nil},
		} {
			has := document.Components.Schemas[name].Value
			var properties []string
			for property, is := range has.Properties {
				properties = append(properties, property)
				if isNullable := is.Value.Type.IncludesNull(); isNullable != slices.Contains(fields.Settable().OptionalNames(), property) {
					t.Errorf("%s of %s may be null: %t", property, name, isNullable)
				}
			}
			expectSame(t, name, properties, slices.Concat(names, schema.others))
			expectSame(t, name+" requires", has.Required, schema.required)
		}
	}
}

func expectSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	if got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestTagsChangeWithTheFields(t *testing.T) {
	few, many := Files("1.0", plain()), Files("1.0", more())
	for _, path := range []string{"/", "/openapi.json"} {
		if tag := get(few[path], "GET").Header.Get("ETag"); tag == get(many[path], "GET").Header.Get("ETag") {
			t.Errorf("%s has the tag %s with more fields too", path, tag)
		}
	}
}
