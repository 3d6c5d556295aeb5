package scim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"users-api/tests/program"
)

// person is a user in the directory of a provider.
type person struct {
	externalID, given, family, email string
	active                           bool
}

func (p person) name() string { return p.given + " " + p.family }

// body is the person as providers send one, with what no field holds.
func (p person) body() map[string]any {
	return map[string]any{
		"schemas": []string{core, enterprise}, "externalId": p.externalID, "userName": p.email, "active": p.active,
		"displayName": p.name(), "name": map[string]any{"formatted": p.name(), "givenName": p.given, "familyName": p.family},
		"emails":       []any{map[string]any{"value": p.email, "type": "work", "primary": true}},
		"phoneNumbers": []any{map[string]any{"value": "1815", "type": "mobile"}}, "groups": []any{},
		enterprise: map[string]any{"department": "Analysis"},
	}
}

// provider is an identity provider as its documents describe it, with what it remembers of the service.
type provider struct {
	t     *testing.T
	users *program.Program
	ids   map[string]string // by externalId
}

// expect sends a request that must have this status, and returns what the answer says.
func (p *provider) expect(status int, method, path string, body any) (says map[string]any) {
	p.t.Helper()
	text := []byte{}
	if body != nil {
		text, _ = json.Marshal(body)
	}
	const kind = "application/scim+json"
	got := p.users.Do(p.t, method, "/scim/v2"+path, string(text), "Content-Type: "+kind, "Accept: "+kind)
	got.To(fmt.Sprintf("%s %s of %s", method, path, text)).Expect(p.t, status, "…")
	if got.Body != "" {
		program.Must(p.t, json.Unmarshal([]byte(got.Body), &says))
	}
	return says
}

// find returns the id of the one user that a filter finds.
func (p *provider) find(filter string, values ...any) (id string) {
	p.t.Helper()
	path := "/Users?filter=" + url.QueryEscape(fmt.Sprintf(filter, values...))
	if found := p.expect(200, "GET", path, nil)["Resources"].([]any); len(found) == 1 {
		id = found[0].(map[string]any)["id"].(string)
	}
	return id
}

// create sends a person who is not known yet, and remembers the id.
func (p *provider) create(who person) {
	p.t.Helper()
	p.ids[who.externalID] = p.expect(201, "POST", "/Users", who.body())["id"].(string)
}

// syncs are how the providers bring a directory to the service. Each is called again and again, as they do.
var syncs = map[string]func(p *provider, directory []person){
	// learn.microsoft.com, "Develop and plan provisioning for a SCIM endpoint".
	"Entra ID": func(p *provider, directory []person) {
		p.find(`userName eq "a-random-guid"`) // the button "Test connection"
		for _, who := range directory {
			id := p.find("userName eq %q and externalId eq %q", who.email, who.externalID)
			if id == "" {
				id = p.find("externalId eq %q", who.externalID)
			}
			if id == "" {
				p.create(who)
				continue
			}
			active := map[bool]string{true: "True", false: "False"}[who.active]
			named := map[string]any{"displayName": who.name(), "name.givenName": who.given}
			named["name.familyName"] = who.family
			p.expect(200, "PATCH", "/Users/"+id, map[string]any{
				"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"},
				"Operations": []map[string]any{
					{"op": "Replace", "path": "userName", "value": who.email},
					{"op": "Replace", "path": `emails[type eq "work"].value`, "value": who.email},
					{"op": "Replace", "value": named},
					{"op": "Add", "path": "externalId", "value": who.externalID},
					{"op": "Add", "path": enterprise + ":department", "value": "Analysis"},
					{"op": "Replace", "path": "active", "value": active},
				},
			})
		}
	},
	// developer.okta.com, "Understanding user provisioning using SCIM".
	"Okta": func(p *provider, directory []person) {
		for _, who := range directory {
			if id := p.ids[who.externalID]; id != "" {
				sent := p.expect(200, "GET", "/Users/"+id, nil)
				maps.Copy(sent, who.body())
				p.expect(200, "PUT", "/Users/"+id, sent)
			} else if p.find("userName eq %q", who.email) == "" {
				p.create(who)
			}
		}
		p.expect(200, "GET", "/Users?startIndex=1&count=100", nil) // the import
	},
	// docs.goauthentik.io, "SCIM provider".
	"authentik": func(p *provider, directory []person) {
		p.expect(200, "GET", "/ServiceProviderConfig", nil)
		p.replace(directory)
	},
	// pocket-id.org, "SCIM": it knows whom the list has.
	"Pocket ID": func(p *provider, directory []person) {
		clear(p.ids)
		for _, one := range p.expect(200, "GET", "/Users?startIndex=1&count=1000", nil)["Resources"].([]any) {
			user := one.(map[string]any)
			p.ids[user["externalId"].(string)] = user["id"].(string)
		}
		p.expect(200, "GET", "/Groups?startIndex=1&count=1000", nil)
		p.replace(directory)
	},
}

// replace replaces the users that are known, and creates the others.
func (p *provider) replace(directory []person) {
	p.t.Helper()
	for _, who := range directory {
		if id := p.ids[who.externalID]; id != "" {
			p.expect(200, "PUT", "/Users/"+id, who.body())
		} else {
			p.create(who)
		}
	}
}

// Each provider brings its directory to the service, and what changes in it. After each change, the service has exactly the
// users of the directory, and one entry in the feed; and bringing the same again changes nothing.
func TestADirectoryIsKept(t *testing.T) {
	t.Parallel()
	for name, sync := range syncs {
		for _, fields := range []string{needed, all} {
			t.Run(name+" with "+fields, func(t *testing.T) {
				t.Parallel()
				users := program.Serve(t, "USER_FIELDS="+fields)
				p := &provider{t, users, map[string]string{}}
				ada, alan := person{"a-1", "Ada", "Lovelace", "ada@example.org", true}, person{"b-2", "Alan", "Turing", "alan@example.org", true}
				feed := ""
				bring := func(what, entries string) {
					t.Helper()
					feed += entries
					directory := []person{ada, alan}
					for _, again := range []string{"", ", again"} {
						sync(p, directory)
						var want []string
						for _, who := range directory {
							want = append(want, fmt.Sprintf(`{"id":%s,"name":"%s","email":"%s","created_at":"T","external_id":"%s","active":"%t"…}`,
								p.ids[who.externalID], who.name(), who.email, who.externalID, who.active))
						}
						program.Expect(t, "the users after "+what+again, send(t, users, "GET /api/users", ""), "200 ["+strings.Join(want, ",")+"]")
						expectFeed(t, users, what+again, feed)
					}
				}
				bring("the first synchronisation", " created 1 created 2")
				ada.family = "King"
				bring("a change of name", " changed 1")
				ada.email = "Ada.King@example.org"
				bring("a change of email", " changed 1")
				alan.active = false
				bring("a deactivation", " changed 2")
				alan.active = true
				bring("a reactivation", " changed 2")
				p.expect(204, "DELETE", "/Users/"+p.ids["b-2"], nil)
				p.expect(404, "DELETE", "/Users/"+p.ids["b-2"], nil)
				delete(p.ids, "b-2")
				bring("a deletion, and a new user", " deleted 2 created 3")
			})
		}
	}
}

var feedEntry = regexp.MustCompile(`"op":"(\w+)","id":(\d+)`)

// expectFeed compares all entries of the feed.
func expectFeed(t *testing.T, p *program.Program, when, want string) {
	t.Helper()
	got := ""
	program.WaitFor(t, "the feed has all changes", func() bool { // on PostgreSQL other tests may hold it back
		got = ""
		for _, entry := range feedEntry.FindAllStringSubmatch(p.Do(t, "GET", "/api/changes", "").Body, -1) {
			got += " " + entry[1] + " " + entry[2]
		}
		return len(got) >= len(want)
	})
	program.Expect(t, "the feed after "+when, got, want)
}
