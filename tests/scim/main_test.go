// Package scim proves what identity providers get from /scim/v2: each rule that docs/scim.md promises, and whole conversations as
// the providers' documents describe them.
package scim

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

func TestMain(m *testing.M) { program.Main(m) }

const (
	needed = "external_id,active"
	all    = needed + ",user_name,given_name,family_name,title,user_type,preferred_language,locale,timezone," +
		"employee_number,cost_center,organization,division,department,room"
	core       = "urn:ietf:params:scim:schemas:core:2.0:User"
	enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
	users      = "/scim/v2/Users"
)

// serve starts a program whose users have some fields besides name and email.
func serve(t *testing.T, fields string, settings ...string) *program.Program {
	t.Helper()
	return program.Serve(t, append(settings, "USER_FIELDS="+fields)...)
}

// exchange is a request, such as "GET /Users", with its body, and the answer to it: the status and the body, with each time as
// T, and "…" for any text. Paths that do not begin with /api are under /scim/v2. What follows "filter=" is encoded.
type exchange struct{ name, request, body, want string }

// expect sends requests one after the other.
func expect(t *testing.T, p *program.Program, exchanges ...exchange) {
	t.Helper()
	for _, e := range exchanges {
		program.Expect(t, fmt.Sprintf("%s: the answer to %s %.2000s", e.name, e.request, e.body), send(t, p, e.request, e.body), e.want)
	}
}

func send(t *testing.T, p *program.Program, request, body string, header ...string) string {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	if before, filter, ok := strings.Cut(path, "filter="); ok {
		path = before + "filter=" + url.QueryEscape(filter)
	}
	if !strings.HasPrefix(path, "/api") {
		path = "/scim/v2" + path
	}
	answer := p.Do(t, method, path, body, header...)
	if strings.HasPrefix(path, "/scim") && answer.Status != 204 {
		program.ExpectHeader(t, answer, "Content-Type", "application/scim+json")
	}
	return fmt.Sprint(answer.Status, " ", times.ReplaceAllString(answer.Body, "T"))
}

var times = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?`)

// shown is a user as SCIM shows it, if it has only the needed fields.
func shown(id int, email, name, externalID string, active bool) string {
	return fmt.Sprintf(`{"active":%t,"displayName":"%s","emails":[{"primary":true,"type":"work","value":"%s"}],"externalId":"%s",`+
		`"id":"%d","meta":{"created":"T","location":"Users/%d","resourceType":"User"},"name":{"formatted":"%s"},"schemas":["%s"],`+
		`"userName":"%s"}`, active, name, email, externalID, id, id, name, core, email)
}

// list is a list of resources.
func list(total, start int, resources ...string) string {
	return fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":%d,"startIndex":%d,`+
		`"itemsPerPage":%d,"Resources":[%s]}`, total, start, len(resources), strings.Join(resources, ","))
}

// refused is an error; word is its scimType, if it has one.
func refused(status int, word, detail string) string {
	if word != "" {
		word = `"scimType":"` + word + `",`
	}
	return fmt.Sprintf(`%d {"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"%d",%s"detail":"%s"}`, status, status, word, detail)
}
