package web

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// versionMark stands in the document for the program's version.
const versionMark = "0.0.0-unknown"

// document returns the OpenAPI document as JSON, in the order in which it was written.
func document(version string) (string, error) {
	text, err := embedded.ReadFile("openapi.yaml")
	if err != nil {
		return "", err
	}
	if version == "" {
		version = versionMark
	}
	document, err := yaml.YAMLToJSON([]byte(strings.Replace(string(text), versionMark, version, 1)))
	if err != nil {
		return "", fmt.Errorf("openapi.yaml: %w", err)
	}
	return string(document), nil
}
