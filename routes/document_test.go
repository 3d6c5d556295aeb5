package routes

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"users-api/controllers"
	"users-api/web"
)

func readDocument(t *testing.T, into any) {
	t.Helper()
	answer := httptest.NewRecorder()
	web.Files("", plain())["/openapi.json"].ServeHTTP(answer, httptest.NewRequest("GET", "/openapi.json", nil))
	if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

func TestTheDocumentHasExactlyTheRoutes(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	readDocument(t, &document)
	described, served := map[string]bool{}, map[string]bool{}
	for path, item := range document.Paths {
		for method := range item {
			if method != "parameters" {
				described[strings.ToUpper(method)+" "+path] = true
			}
		}
	}
	for _, route := range silent(nil).routes(context.Background(), usual()).Routes() {
		if !strings.HasPrefix(route.Path, "/assets/") { // they belong to the pages
			served[route.Method+" "+strings.Replace(route.Path, ":id", "{id}", 1)] = true
		}
	}
	if !maps.Equal(described, served) {
		t.Errorf("described are\n%s\nserved are\n%s", strings.Join(slices.Sorted(maps.Keys(described)), "\n"),
			strings.Join(slices.Sorted(maps.Keys(served)), "\n"))
	}
}

var codeRow = regexp.MustCompile("(?m)^\\| (?:(\\d+) \\| )?`(\\w+)` \\| (?:(\\d+)|.*) \\| (.*) \\|$")

// codesIn returns the rows of a table of codes: the status and what to do, by the word.
func codesIn(text string) map[string]string {
	rows := map[string]string{}
	for _, row := range codeRow.FindAllStringSubmatch(text, -1) {
		rows[row[2]] = row[1] + row[3] + ": " + row[4]
	}
	return rows
}

func TestEveryCodeIsExplainedWithItsStatus(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas struct {
				Code struct {
					Description string
					Enum        []string
				}
			}
		}
	}
	readDocument(t, &document)
	page, err := os.ReadFile("../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	described := document.Components.Schemas.Code
	explained := codesIn(described.Description)
	if people := codesIn(string(page)); !maps.Equal(explained, people) {
		t.Errorf("the document explains %v, and docs/errors.md %v", explained, people)
	}
	for code, status := range controllers.Codes {
		if !strings.HasPrefix(explained[code], strconv.Itoa(status)+": ") || len(explained[code]) < 10 {
			t.Errorf("%s with %d is explained as %q", code, status, explained[code])
		}
	}
	words := slices.Sorted(maps.Keys(controllers.Codes))
	if !slices.Equal(slices.Sorted(slices.Values(described.Enum)), words) || len(explained) != len(words) {
		t.Errorf("the document has the codes %v and explains %d, and there are %v", described.Enum, len(explained), words)
	}
}
