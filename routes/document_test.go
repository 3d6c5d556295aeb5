package routes

import (
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"users-api/models/storetest"
	"users-api/web"
)

func TestTheDocumentHasExactlyTheRoutes(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	web.Files("", storetest.Fields())["/openapi.json"].ServeHTTP(answer, httptest.NewRequest("GET", "/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
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
