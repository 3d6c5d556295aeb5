package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/goccy/go-yaml"

	"users-api/models"
)

// answer is what a file was answered with.
type answer struct {
	status int
	Header http.Header
	raw    string
}

func get(file http.Handler, method string, headers ...string) answer {
	request := httptest.NewRequest(method, "/", nil)
	for _, line := range headers {
		if name, value, found := strings.Cut(line, ": "); found {
			request.Header.Add(name, value)
		}
	}
	recorder := httptest.NewRecorder()
	file.ServeHTTP(recorder, request)
	return answer{recorder.Code, recorder.Result().Header, recorder.Body.String()}
}

// text is the body of an answer, which may be packed.
func (a answer) text() string {
	if a.Header.Get("Content-Encoding") == "gzip" {
		return decompress(a.raw)
	}
	return a.raw
}

func TestEveryFileIsServedPackedAndPlainUnderTagsOfTheirOwn(t *testing.T) {
	for path, file := range Files("1.0", models.NewFields(), time.Hour) {
		packed, plain := get(file, "GET", "Accept-Encoding: br, gzip"), get(file, "GET")
		if packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is sent as %v and %v", path, packed.Header, plain.Header)
		}
		if text := packed.text(); text == "" || text != plain.text() {
			t.Errorf("%s differs packed and plain, or is empty", path)
		}
		if packed.Header.Get("ETag") == plain.Header.Get("ETag") || plain.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: a cache would mix up what is packed and what is plain", path)
		}
		if plain.Header.Get("Content-Type") == "" {
			t.Errorf("%s has no content type", path)
		}
		kept := "no-cache"
		if strings.HasPrefix(path, "/assets/") {
			kept = "public, max-age=31536000, immutable"
		}
		if got := plain.Header.Get("Cache-Control"); got != kept {
			t.Errorf("%s has Cache-Control %q, want %q", path, got, kept)
		}
	}
}

func TestThePageIsAnsweredAsItIsAskedFor(t *testing.T) {
	page := Files("1.0", models.NewFields(), time.Hour)["/"]
	const gzip = "Accept-Encoding: gzip"
	plain, packed := get(page, "GET"), get(page, "GET", gzip)
	whole, small := plain.raw, packed.raw
	tag, smallTag := plain.Header.Get("ETag"), packed.Header.Get("ETag")
	for _, c := range []struct {
		headers string
		status  int
		body    string
	}{
		{"", 200, whole},
		{gzip, 200, small},
		{"Accept-Encoding: deflate, gzip, br, zstd", 200, small},
		{"Accept-Encoding: gzip;q=0", 200, whole},
		{"Accept-Encoding: *, gzip;q=0.0", 200, whole},
		{"Range: bytes=10-19", 206, whole[10:20]},
		{gzip + "|Range: bytes=1-2", 206, small[1:3]},
		{gzip + `|If-Match: "x"`, 200, small}, // no client changes a file
		{`If-None-Match: "x", W/` + tag, 304, ""},
		{`If-None-Match: "x"`, 200, whole},
		{gzip + "|If-None-Match: " + smallTag, 304, ""},
		{gzip + "|If-None-Match: " + tag, 200, small},
	} {
		read, head := get(page, "GET", strings.Split(c.headers, "|")...), get(page, "HEAD", strings.Split(c.headers, "|")...)
		text, length := read.raw, read.Header.Get("Content-Length")
		if read.status != c.status || text != c.body || length != strconv.Itoa(len(text)) && c.status != 304 {
			t.Errorf("%q is answered %d with the length %s and %d bytes", c.headers, read.status, length, len(text))
		}
		if isSmall := strings.HasPrefix(c.headers, gzip+"|") || c.body == small; read.Header.Get("ETag") == tag == isSmall {
			t.Errorf("%q is answered with the tag %s", c.headers, read.Header.Get("ETag"))
		}
		if head.status != c.status || head.raw != "" || !reflect.DeepEqual(head.Header, read.Header) {
			t.Errorf("%q is answered to HEAD %d %v, and to GET %v", c.headers, head.status, head.Header, read.Header)
		}
	}
}

func TestThePolicyAllowsNothingInlineAndNoOtherHost(t *testing.T) {
	page := get(Files("1.0", models.NewFields(), time.Hour)["/"], "GET").Header
	policy := page.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	loose := regexp.MustCompile(`unsafe|http|\*|data:|blob:`)
	if loose.MatchString(policy) || page.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page has the headers %v", page)
	}
}

// The sums are those of swagger-ui-dist 5.35.0 in the npm registry, unpacked.
func TestSwaggerUIIsWhatItsMakersPublished(t *testing.T) {
	sums := map[string]string{}
	for path, file := range Files("1.0", models.NewFields(), time.Hour) {
		sum := sha256.Sum256([]byte(get(file, "GET").text()))
		sums[path[strings.LastIndexByte(path, '/')+1:]] = hex.EncodeToString(sum[:])
	}
	for name, want := range map[string]string{
		"swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
		"swagger-ui.css":       "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
	} {
		if sums[name] != want {
			t.Errorf("%s has the sum %q, want %s", name, sums[name], want)
		}
	}
}

// plain are the fields of the specification.
func plain() models.Fields { return models.NewFields()[:2] }

// with are those and some that a setting adds, without others of the model.
func with(names ...string) models.Fields {
	ofTheModel := func(field *models.Field) bool { return !field.Required && !field.Added }
	return slices.DeleteFunc(models.NewFields(names...), ofTheModel)
}

// describe returns the document of a service with some fields.
func describe(t *testing.T, fields models.Fields) *openapi3.T {
	t.Helper()
	text := get(Files("1.0", fields, time.Hour)["/openapi.json"], "GET").text()
	document, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err == nil {
		err = document.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestTheDocumentHasTheFieldsOfAUser(t *testing.T) {
	// Some names mean something else in YAML, JavaScript, HTML or the document.
	odd := models.NewFields("null", "true", "yes", "on", "y", "n1", "e1", "constructor", "form", "user", "error", "schema")
	for _, fields := range []models.Fields{plain(), odd, models.NewFields("job_title", "updated_at", "room")} {
		document := describe(t, fields)
		names, required := fields.Settable().Names(), fields.RequiredNames()
		fixed := append([]string{"id"}, fields.Times()...)
		byEmail := slices.DeleteFunc(fields.RequiredNames(), func(name string) bool { return name == "email" }) // which the path has
		for name, schema := range map[string]struct{ others, required []string }{
			"User":            {fixed, slices.Concat(names, fixed)},
			"CreatedUser":     {[]string{"id"}, slices.Concat(names, []string{"id"})},
			"NewUser":         {nil, required},
			"UserReplacement": {fixed, byEmail},
			"UserChange":      {fixed, nil},
		} {
			has := document.Components.Schemas[name].Value
			var properties []string
			for property, is := range has.Properties {
				properties = append(properties, property)
				if isNullable := is.Value.Type.IncludesNull(); isNullable != slices.Contains(fields.Settable().OptionalNames(), property) {
					t.Errorf("%s of %s may be null: %t", property, name, isNullable)
				}
			}
			expectSame(t, name, properties, slices.Concat(names, schema.others))
			expectSame(t, name+" requires", has.Required, schema.required)
		}
	}
}

func TestTheDocumentHasTheFieldsInItsFilesAndParameters(t *testing.T) {
	document := describe(t, with("job_title", "updated_at", "room"))
	sorts := fmt.Sprint(document.Components.Parameters["sort"].Value.Schema.Value.Enum)
	if sorts != "[id name email created_at job_title updated_at room]" {
		t.Errorf("users are sorted by %s", sorts)
	}
	if !document.Components.Schemas["FormerUser"].Value.Properties["updated_at"].Value.Type.IncludesNull() {
		t.Error("a user who was deleted before the service had updated_at is not described")
	}
	for path, file := range map[string]string{
		"/api/users": "",
		"/api/users.csv": "id,name,email,created_at,job_title,updated_at,room\r\n" +
			"1,Ada Lovelace,ada@example.org,2026-11-20 15:42:07,,2026-11-20 15:42:07,\r\n",
		"/api/users.ndjson": `{"id":1,"name":"Ada Lovelace","email":"ada@example.org","created_at":"2026-11-20 15:42:07",` +
			`"job_title":null,"updated_at":"2026-11-20 15:42:07","room":null}` + "\n",
	} {
		get, takes := document.Paths.Value(path).Get, ""
		for _, parameter := range get.Parameters {
			takes += parameter.Value.Name + " "
		}
		if !strings.HasPrefix(takes, "id name name! email email! job_title job_title! room room! q created_from created_to "+
			"updated_from updated_to sort ") {
			t.Errorf("%s takes %s", path, takes)
		}
		for kind, content := range get.Responses.Value("200").Value.Content {
			if file != "" && content.Example != file {
				t.Errorf("the example of %s is %q, want %q", kind, content.Example, file)
			}
		}
	}
}

func TestTheDocumentHasTheTypesOfFields(t *testing.T) {
	fields := models.NewFields("active:boolean", "level:number", "joined:date", "site:url", `role:it's "A"|a, b`)
	document := describe(t, fields)
	for name, want := range map[string]string{
		"active": `{"type":"boolean"}`, "level": `{"format":"double","type":"number"}`, "joined": `{"format":"date","type":"string"}`,
		"site": `{"format":"uri","type":"string"}`, "role": `{"enum":["it's \"A\"","a, b"],"type":"string"}`,
	} {
		for _, schema := range []string{"User", "CreatedUser", "NewUser", "UserReplacement", "UserChange", "FormerUser"} {
			got, err := document.Components.Schemas[schema].Value.Properties[name].Value.MarshalJSON()
			if want := `{"anyOf":[` + want + `,{"type":"string"},{"type":"null"}]}`; err != nil || string(got) != want {
				t.Errorf("%s of %s is %s, want %s (%v)", name, schema, got, want, err)
			}
		}
		parameters := document.Paths.Value("/api/users").Get.Parameters
		hasRange := parameters.GetByInAndName("query", name+"_from") != nil && parameters.GetByInAndName("query", name+"_to") != nil
		if hasRange != (name == "level" || name == "joined") {
			t.Errorf("the document has a range of %s: %t", name, hasRange)
		}
	}
}

// Any tool that reads YAML can read the file, and finds in it what a service without more fields serves.
func TestTheDocumentIsItsSource(t *testing.T) {
	source := strings.Replace(source, "version: unreleased", "version: '1.0'", 1)
	want, err := yaml.MarshalWithOptions(parse[any](source), yaml.JSON())
	if text := get(Files("1.0", plain(), time.Hour)["/openapi.json"], "GET").text(); err != nil || text != string(want) {
		t.Errorf("the document is %s, want %s (%v)", text, want, err)
	}
}

func expectSame(t *testing.T, what string, got, want []string) {
	t.Helper()
	if got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestTagsChangeWithTheFields(t *testing.T) {
	for _, path := range []string{"/", "/openapi.json"} {
		seen := map[string]models.Fields{}
		for _, fields := range []models.Fields{plain(), with("a"), with("a:number"), with("a:x|y"), with("a:x|z"), with("b")} {
			tag := get(Files("1.0", fields, time.Hour)[path], "GET").Header.Get("ETag")
			if seen[tag] != nil {
				t.Errorf("%s has the tag %s for other fields, too", path, tag)
			}
			seen[tag] = fields
		}
	}
}
