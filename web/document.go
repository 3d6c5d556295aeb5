package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"users-api/models"
)

//go:embed openapi.yaml
var source string

// versionMark is the placeholder in the document for the program's version.
const versionMark = "0.0.0-unknown"

// newDocument returns a handler that serves the OpenAPI document as JSON.
func newDocument(version string, fields models.Fields) http.Handler {
	written := withFields(strings.Replace(source, versionMark, version, 1), fields.OptionalNames())
	return newFile("openapi.json", hash(written), func() string { return toJSON(written) }, nil)
}

// withFields returns the document with optional fields, which its own comments say where to put.
func withFields(document string, names []string) string {
	var lines []string
	for line := range strings.Lines(document) {
		indent, comment, _ := strings.Cut(line, "#")
		mark, text, _ := strings.Cut(comment, " ")
		switch {
		case mark == "field":
			lines = append(lines, repeat(indent+text, names))
		case mark == "fields" && len(names) > 0:
			lines[len(lines)-1] = repeated.ReplaceAllStringFunc(indent+text, func(part string) string {
				return repeat(part[1:len(part)-1], names)
			})
		case mark != "fields":
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// repeated is the part of a line that is there once for each optional field.
var repeated = regexp.MustCompile(`<[^<>]*>`)

// repeat returns a text once for each name.
func repeat(text string, names []string) (all string) {
	for _, name := range names {
		all += strings.ReplaceAll(text, "FIELD", name)
	}
	return all
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
