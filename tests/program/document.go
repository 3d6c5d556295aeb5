package program

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"users-api/models"
	"users-api/web"
)

// documents are functions that return the paths in the OpenAPI document of a program by its USER_FIELDS, to compare answers
// with. Each is parsed once for all tests.
var documents sync.Map

func documentWith(userFields string) routers.Router {
	parse := sync.OnceValue(func() routers.Router { return parseDocument(userFields) })
	read, _ := documents.LoadOrStore(userFields, parse)
	return read.(func() routers.Router)()
}

func parseDocument(userFields string) routers.Router {
	names := strings.FieldsFunc(userFields, func(char rune) bool { return char == ',' })
	answer, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/openapi.json", nil)
	web.Files("0.0.0", models.NewFields(names...), 0)["/openapi.json"].ServeHTTP(answer, request)
	text, err := openapi3.NewLoader().LoadFromData(answer.Body.Bytes())
	if err == nil {
		err = text.Validate(context.Background())
	}
	if err != nil {
		panic(err)
	}
	text.Servers = nil // the router knows no relative one, and tests ask at the root
	router, err := gorillamux.NewRouter(text)
	if err != nil {
		panic(err)
	}
	for _, file := range []string{"text/html", "text/csv", "application/x-ndjson"} {
		openapi3filter.RegisterBodyDecoder(file, openapi3filter.FileBodyDecoder)
	}
	openapi3filter.RegisterBodyDecoder("application/scim+json", openapi3filter.JSONBodyDecoder)
	return router
}

// differences are between the document and what tests were answered.
type differences struct {
	userFields string // the setting of the program

	sync.Mutex
	compared map[kind]int
	found    []string
}

// kind is what exchanges have in common whose schemas are the same.
type kind struct {
	operation *openapi3.Operation
	status    int
}

// enough is how many exchanges of a kind are compared with the document for each program: a comparison takes a millisecond,
// for it compiles the schemas anew, and who sends thousands sends more of the same.
const enough = 50

func (d *differences) note(request *http.Request, answer Answer) {
	if d == nil { // what answers is not the API
		return
	}
	if err := d.check(request, answer); err != nil {
		d.Lock()
		defer d.Unlock()
		d.found = append(d.found, fmt.Sprintf("%s %s\n%d %v %.200q\n%v",
			request.Method, request.URL, answer.Status, answer.Header, answer.Body, err))
	}
}

// isNew reports whether an exchange is among the first of its kind, and counts it.
func (d *differences) isNew(of kind) bool {
	d.Lock()
	defer d.Unlock()
	if d.compared == nil {
		d.compared = map[kind]int{}
	}
	d.compared[of]++
	return d.compared[of] <= enough
}

// report fails a test at its end for the first few.
func (d *differences) report(t testing.TB) {
	d.Lock()
	defer d.Unlock()
	for _, difference := range d.found[:min(len(d.found), 5)] {
		t.Errorf("not as in web/openapi.yaml: %s", difference)
	}
}

// largestBody is how large an answer may be that is compared with the document: a list of all users has the same
// users over and over, and tests that measure would wait for it.
const largestBody = 256 << 10

// options: who may do what is no matter of the document alone, and a status that it does not have is a mistake.
var options = openapi3filter.Options{
	IncludeResponseStatus: true, MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
}

// check returns in what an answer differs from the document.
func (d *differences) check(request *http.Request, answer Answer) error {
	if strings.HasPrefix(request.URL.Path, "/scim/v2") { // where a doubled slash counts as one
		request = request.Clone(request.Context())
		request.URL.Path = strings.ReplaceAll(request.URL.Path, "//", "/")
	}
	options := options
	if request.Method == http.MethodHead { // the document says of it that it is GET without a body
		options.ExcludeResponseBody, request = true, request.Clone(request.Context())
		request.Method = http.MethodGet
	}
	route, parameters, err := documentWith(d.userFields).FindRoute(request)
	if err != nil && answer.Status < 400 {
		return errors.New("the document has no such operation, and the program does")
	} else if err != nil || len(answer.Body) > largestBody || !d.isNew(kind{route.Operation, answer.Status}) {
		return nil
	}
	asked := &openapi3filter.RequestValidationInput{
		Request: request, PathParams: parameters, Route: route, Options: &options,
	}
	given := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: answer.Status, Header: answer.Header, Options: &options,
	}
	given.SetBodyBytes([]byte(answer.Body))
	return openapi3filter.ValidateResponse(request.Context(), given)
}
