package routes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"users-api/controllers"
	"users-api/tests/program"
	"users-api/web"
)

func readDocument(t *testing.T, into any) {
	t.Helper()
	answer := httptest.NewRecorder()
	web.Files("", plain(), 0)["/openapi.json"].ServeHTTP(answer, httptest.NewRequest("GET", "/openapi.json", nil))
	program.Must(t, json.Unmarshal(answer.Body.Bytes(), into))
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
	for _, route := range silent(openUsers(t, t.TempDir()+"/users.db", 0)).routes(context.Background(), usual()).Routes() {
		// Assets belong to the pages, and HEAD works wherever GET does.
		if !strings.HasPrefix(route.Path, "/assets/") && route.Method != http.MethodHead {
			served[route.Method+" "+strings.Replace(route.Path, ":id", "{id}", 1)] = true
		}
	}
	for route := range served {
		if !described[route] {
			t.Errorf("web/openapi.yaml does not describe %s", route)
		}
	}
	for route := range described {
		if !served[route] {
			t.Errorf("web/openapi.yaml describes %s, which is not served", route)
		}
	}
}

// codesIn returns what a table of codes says of each: the status, which stands before the code or behind it, and what to do.
func codesIn(text string) map[string]string {
	rows := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| (?:(\\d+) \\| )?`(\\w+)` \\| (?:(\\d+)|.*) \\| (.{5,}) \\|$")
	for _, parts := range row.FindAllStringSubmatch(text, -1) {
		rows[parts[2]] = parts[1] + parts[3] + ": " + parts[4]
	}
	return rows
}

// What the program has is what controllers.Codes has, what the document lists, and what both explain.
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
	program.Must(t, err)
	described := document.Components.Schemas.Code
	explained := codesIn(described.Description)
	program.Expect(t, "what the document explains, and docs/errors.md", explained, codesIn(string(page)))
	for code, status := range controllers.Codes {
		program.Expect(t, "what is explained of "+code, explained[code], fmt.Sprint(status, ": …"))
	}
	used := map[string]bool{}
	files, _ := filepath.Glob("../*/*.go")
	for _, file := range files {
		source, err := os.ReadFile(file)
		program.Must(t, err)
		for _, match := range regexp.MustCompile(`(?:NewError|refusal)\("(\w+)"`).FindAllSubmatch(source, -1) {
			used[string(match[1])] = true
		}
	}
	words := slices.Sorted(maps.Keys(controllers.Codes))
	for of, has := range map[string][]string{"the document's list": described.Enum,
		"its table": slices.Collect(maps.Keys(explained)), "the program": slices.Collect(maps.Keys(used))} {
		slices.Sort(has)
		program.Expect(t, "the codes of "+of, has, words)
	}
}
