package controllers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// asked is the context of a request with header lines of one name.
func asked(name string, lines ...string) *gin.Context {
	gin.SetMode(gin.TestMode)
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodGet, "/", nil)
	for _, line := range lines {
		c.Request.Header.Add(name, line)
	}
	return c
}

func TestIfNoneMatch(t *testing.T) {
	const tag = `"abc"`
	for _, sent := range []struct {
		name        string
		lines       []string
		notModified bool
	}{
		{"none", nil, false},
		{"the tag", []string{`"abc"`}, true},
		{"a weak one", []string{`W/"abc"`}, true},
		{"any", []string{`*`}, true},
		{"another", []string{`"abd"`}, false},
		{"without quotes", []string{`abc`}, false},
		{"in a list", []string{`"x", W/"abc"`}, true},
		{"in a second line", []string{`"x"`, `"y","abc"`}, true},
		{"within another", []string{`"x,abc"`}, false},
		{"nothing", []string{``}, false},
	} {
		t.Run(sent.name, func(t *testing.T) {
			c := asked("If-None-Match", sent.lines...)
			if got := notModified(c, tag); got != sent.notModified || c.Writer.Header().Get("ETag") != tag {
				t.Errorf("got %t, with %v", got, c.Writer.Header())
			}
		})
	}
}

func TestIfMatch(t *testing.T) {
	tag := entityTag(fields.AppendUser(nil, &ada))
	for _, sent := range []struct {
		name    string
		lines   []string
		allowed bool
	}{
		{"the tag", []string{tag}, true},
		{"any", []string{`*`}, true},
		{"in a list", []string{`"x", ` + tag}, true},
		{"in a second line", []string{`"x"`, tag}, true},
		{"a weak one", []string{`W/` + tag}, false},
		{"another", []string{`"x"`}, false},
		{"nothing", []string{``}, false},
	} {
		t.Run(sent.name, func(t *testing.T) {
			err := (&API{fields: fields}).ifMatch(asked("If-Match", sent.lines...))(ada)
			if (err == nil) != sent.allowed {
				t.Fatalf("got %v", err)
			}
			if refusal, ok := errors.AsType[*Error](err); ok && (refusal.Status() != 412 || refusal.tag != tag) {
				t.Errorf("got %+v", refusal)
			}
		})
	}
	if (&API{fields: fields}).ifMatch(asked("If-Match")) != nil {
		t.Error("without If-Match there is a condition, and storage reads the user for nothing")
	}
}

// accepts are the lines of an Accept header, and whether they ask for problems.
var accepts = []struct {
	name  string
	lines []string
	wants bool
}{
	{"none", nil, false},
	{"anything", []string{"*/*"}, false},
	{"any application", []string{"application/*"}, false},
	{"JSON", []string{"application/json"}, false},
	{"a problem", []string{"application/problem+json"}, true},
	{"a problem, in another letter case", []string{"Application/Problem+JSON"}, true},
	{"in a list", []string{"application/json, application/problem+json"}, true},
	{"in a second line", []string{"text/html", "text/xml;q=0.5,application/problem+json;q=0.1"}, true},
	{"with another parameter", []string{"application/problem+json; charset=utf-8"}, true},
	{"the lowest quality", []string{"application/problem+json;q=0.001"}, true},
	{"refused", []string{"application/problem+json;q=0"}, false},
	{"refused with fractions", []string{"application/json, application/problem+json; Q=0.000"}, false},
	{"a quality that is none", []string{"application/problem+json;q=high"}, false},
	{"XML", []string{"application/problem+xml"}, false},
	{"longer", []string{"application/problem+jsonx"}, false},
}

func TestProblemsAreForClientsThatAskForThem(t *testing.T) {
	for _, sent := range accepts {
		t.Run(sent.name, func(t *testing.T) {
			if got := wantsProblem(asked("Accept", sent.lines...)); got != sent.wants {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestARefusalKeepsNoHeaderOfTheResponseThatFailed(t *testing.T) {
	c := asked("Accept")
	revalidate(c)
	for _, name := range []string{"Content-Disposition", "Link", "X-Total-Count", "ETag"} {
		c.Header(name, "of the page")
	}
	Refuse(c, errNoRoom)
	for _, name := range []string{"Content-Disposition", "Link", "X-Total-Count", "ETag", "Cache-Control"} {
		if got := c.Writer.Header().Get(name); got != "" {
			t.Errorf("%s is %q", name, got)
		}
	}
}
