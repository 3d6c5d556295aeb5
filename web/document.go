package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"users-api/models"
)

//go:embed openapi.yaml
var source string

// newDocument returns a handler that serves the OpenAPI document as JSON.
func newDocument(version string, fields models.Fields) http.Handler {
	settable := fields.Settable()
	actions := template.FuncMap{"settable": func(name string) bool { return settable.Find(name) != nil }}
	document := fill(template.Must(template.New("web/openapi.yaml").Funcs(actions).Delims("#<", ">").Parse(source)), struct {
		Version string
		Fields  []string // the names of the optional ones
		Shown   []string // and of those that are only read
		Updated bool     // updated_at is one of these
	}{version, settable.OptionalNames(), fields.OptionalNames(), fields.IsTime(models.UpdatedAt)})
	return newFile("openapi.json", hash(document), func() string {
		var api yaml.MapSlice // keeps the order
		err := yaml.UnmarshalWithOptions([]byte(document), &api, yaml.UseOrderedMap())
		if err == nil {
			describeHEAD(api)
			var json []byte
			if json, err = yaml.MarshalWithOptions(api, yaml.JSON()); err == nil {
				return string(json)
			}
		}
		panic(fmt.Errorf("openapi.yaml: %w", err)) // it is embedded and tested
	}, nil)
}

// describeHEAD adds HEAD to each path that has GET: the same responses, without their bodies.
func describeHEAD(api yaml.MapSlice) {
	shared, paths := at(at(api, "components"), "responses"), at(api, "paths")
	for i, path := range paths {
		get := at(path.Value, "get")
		if get == nil {
			continue
		}
		var responses yaml.MapSlice
		for _, response := range at(get, "responses") {
			described := response.Value.(yaml.MapSlice)
			if reference, isShared := described.ToMap()["$ref"].(string); isShared {
				described = at(shared, strings.TrimPrefix(reference, "#/components/responses/"))
			}
			isBody := func(item yaml.MapItem) bool { return item.Key == "content" }
			responses = append(responses, yaml.MapItem{Key: response.Key, Value: slices.DeleteFunc(slices.Clone(described), isBody)})
		}
		head := slices.Clone(get)
		for j, item := range head {
			switch item.Key {
			case "operationId":
				head[j].Value = fmt.Sprint(item.Value, "Head")
			case "responses":
				head[j].Value = responses
			}
		}
		paths[i].Value = append(path.Value.(yaml.MapSlice), yaml.MapItem{Key: "head", Value: head})
	}
}

// at returns what a map has at a key, or nil.
func at(within any, key string) yaml.MapSlice {
	value, _ := within.(yaml.MapSlice).ToMap()[key].(yaml.MapSlice)
	return value
}
