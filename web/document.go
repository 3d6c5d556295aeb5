package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"text/template"

	"github.com/goccy/go-yaml"

	"users-api/models"
)

//go:embed openapi.yaml
var source string

// newDocument returns a handler that serves the OpenAPI document as JSON.
func newDocument(version string, fields models.Fields) http.Handler {
	document := fill(template.Must(template.New("").Delims("#<", ">").Parse(source)), struct {
		Version string
		Fields  []string // the names of the optional ones
	}{version, fields.OptionalNames()})
	return newFile("openapi.json", hash(document), func() string {
		json, err := yaml.YAMLToJSON([]byte(document)) // in the same order
		if err != nil {
			panic(fmt.Errorf("openapi.yaml: %w", err)) // it is embedded and tested
		}
		return string(json)
	}, nil)
}
