package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed openapi.yaml
var source string

// versionMark is the placeholder in the document for the program's version.
const versionMark = "0.0.0-unknown"

// newDocument returns a handler that serves the OpenAPI document as JSON.
func newDocument(version string) http.Handler {
	written := strings.Replace(source, versionMark, version, 1)
	return newFile("openapi.json", hash(map[string]string{"": written}), func() string { return toJSON(written) }, nil)
}

// toJSON converts YAML to JSON, in the same order. The document is embedded and tested, so only a broken build makes it
// panic.
func toJSON(text string) string {
	document, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(fmt.Errorf("openapi.yaml: %w", err))
	}
	return string(document)
}
