package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"users-api/models"
)

//go:embed openapi.yaml
var source string

// newDocument returns a handler that serves the OpenAPI document as JSON.
func newDocument(version string, fields models.Fields) http.Handler {
	optional := slices.DeleteFunc(slices.Clone(fields), func(field *models.Field) bool { return field.Required })
	parts := []string{source, version}
	for _, field := range optional {
		parts = append(parts, field.Name, fmt.Sprint(describeValue(field)))
	}
	return newFile("openapi.json", hash(parts...), func() string {
		text := strings.Replace(source, "version: unreleased", fmt.Sprintf("version: %q", version), 1)
		json, err := yaml.MarshalWithOptions(newAddition(optional).to(parse[any](text)), yaml.JSON())
		if err != nil {
			panic(err)
		}
		return string(json)
	}, nil)
}

// parse reads YAML and keeps its order. All of it is embedded and tested, so only a broken build makes it panic.
func parse[T any](text string) (parsed T) {
	if err := yaml.UnmarshalWithOptions([]byte(text), &parsed, yaml.UseOrderedMap()); err != nil {
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	return parsed
}

// addition is what the optional fields of a service add to the document.
type addition struct {
	fields     models.Fields
	parameters map[any][]any     // of lists, by the reference that they follow
	texts      *strings.Replacer // of files
}

// fieldParameters are those of a field. The name in Go keeps the second apart from the first.
const fieldParameters = `
- {name: '%[1]s', in: query, allowEmptyValue: true,
  description: 'Users with exactly this %[1]s, or those without one if it is empty',
  schema: {type: array, maxItems: 100, items: {type: string}}, example: [%[2]s]}
- {name: '%[1]s!', x-go-name: 'Not_%[1]s', in: query, allowEmptyValue: true,
  description: 'Users with another %[1]s or none, or those with one if it is empty',
  schema: {type: array, maxItems: 100, items: {type: string}}, example: [%[2]s]}
`

// timeParameters are those of [models.UpdatedAt].
const timeParameters = `
- {name: updated_from, in: query, schema: {type: string}, example: '2026-01-01',
  description: 'Users changed at this time in UTC or later: a day, or a time as updated_at has it'}
- {name: updated_to, in: query, schema: {type: string}, example: '2100-01-01 12:00:00',
  description: Users whose last change was before this time in UTC}
`

// rangeParameters are those of a field that has a type with ranges, whose schema is the second.
const rangeParameters = `
- {name: %[1]s_from, in: query, schema: %[2]s, description: Users whose %[1]s is this or above}
- {name: %[1]s_to, in: query, schema: %[2]s, description: Users whose %[1]s is below this}
`

// typeSchemas describe a value of a type.
var typeSchemas = map[string]string{
	"boolean": "{type: boolean}", "number": "{type: number, format: double}", "date": "{type: string, format: date}",
	"url": "{type: string, format: uri}", "choice": "{type: string}",
}

func newAddition(fields models.Fields) *addition {
	const time = "2026-11-20 15:42:07"
	const header, row, member = "id,name,email,created_at", "ada@example.org," + time, `"created_at":"` + time + `"`
	headers, rows, members, parameters := header, row, member, map[any][]any{}
	for _, field := range fields {
		example := "text"
		if field.Type != nil {
			example = "''" // which all take
		}
		more, after, cell, value := fmt.Sprintf(fieldParameters, field.Name, example), "other_email", "", "null"
		if field.Time {
			more, after, cell, value = timeParameters, "created_to", time, `"`+time+`"`
		}
		after = "#/components/parameters/" + after
		parameters[after] = append(parameters[after], parse[[]any](more)...)
		if field.Type.HasRange() {
			after = "#/components/parameters/created_to"
			ends := parse[[]any](fmt.Sprintf(rangeParameters, field.Name, typeSchemas[field.Type.Name]))
			parameters[after] = append(parameters[after], ends...)
		}
		headers, rows, members = headers+","+field.Name, rows+","+cell, members+`,"`+field.Name+`":`+value
	}
	return &addition{fields, parameters, strings.NewReplacer(header, headers, row, rows, member, members)}
}

// describeValue returns the schema of a value: a text that does not fit the type of its field is shown, too.
func describeValue(field *models.Field) yaml.MapSlice {
	if field.Type == nil {
		return yaml.MapSlice{{Key: "type", Value: []any{"string", "null"}}}
	}
	of := parse[yaml.MapSlice](typeSchemas[field.Type.Name])
	if field.Type.Name == "choice" {
		of = append(of, yaml.MapItem{Key: "enum", Value: field.Type.Choices})
	}
	return yaml.MapSlice{{Key: "anyOf", Value: append([]any{of}, parse[[]any]("[{type: string}, {type: 'null'}]")...)}}
}

// to returns a part of the document with what is added to it.
func (a *addition) to(part any) any {
	switch part := part.(type) {
	case string:
		return a.texts.Replace(part)
	case []any:
		var list []any
		for _, item := range part {
			list = append(list, a.to(item))
			if object, is := item.(yaml.MapSlice); is {
				list = append(list, a.parameters[object.ToMap()["$ref"]]...)
			}
		}
		has := func(name any) bool { return slices.Contains(part, name) }
		for _, field := range a.fields { // to sort by, or in each answer
			if has("id") && has("name") && has("email") && (!field.Time || has("created_at")) {
				list = append(list, field.Name)
			}
		}
		return list
	case yaml.MapSlice:
		var object yaml.MapSlice
		for _, item := range part {
			object = append(object, yaml.MapItem{Key: item.Key, Value: a.to(item.Value)})
		}
		if has := part.ToMap(); has["name"] != nil && has["email"] != nil && has["other_email"] == nil { // not the parameters
			return append(object, a.toUser(has)...)
		}
		return object
	}
	return part
}

// toUser returns what is added to a user: to an example, or to the properties of a schema. Where there is created_at, the
// other times are, too, and look like it.
func (a *addition) toUser(user map[any]any) (more yaml.MapSlice) {
	_, isSchema := user["email"].(yaml.MapSlice)
	for _, field := range a.fields {
		var null any
		if isSchema {
			null = describeValue(field)
		}
		switch created := user["created_at"]; {
		case !field.Time, isSchema && user["deleted_at"] != nil: // a deletion may be older than the field
			more = append(more, yaml.MapItem{Key: field.Name, Value: null})
		case created != nil:
			more = append(more, yaml.MapItem{Key: field.Name, Value: created})
		}
	}
	return more
}
