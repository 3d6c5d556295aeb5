package scim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
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

// answer is what a provider reads of an answer.
type answer struct {
	status    int
	ScimType  string
	ID        string
	Resources []map[string]any
	whole     map[string]any
}

func (p *provider) send(method, path string, body any) (a answer) {
	p.t.Helper()
	text := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		program.Must(p.t, err)
		text = string(encoded)
	}
	got := p.users.Do(p.t, method, "/scim/v2"+path, text, "Content-Type: application/scim+json", "Accept: application/scim+json")
	if a.status = got.Status; got.Body != "" {
		program.Must(p.t, json.Unmarshal([]byte(got.Body), &a))
		program.Must(p.t, json.Unmarshal([]byte(got.Body), &a.whole))
	}
	return a
}

// expect is send for a request that must succeed.
func (p *provider) expect(status int, method, path string, body any) answer {
	p.t.Helper()
	a := p.send(method, path, body)
	if a.status != status {
		p.t.Errorf("%s %s of %v is answered %d %v, want %d", method, path, body, a.status, a.whole, status)
	}
	return a
}

// find returns the id of the one user that a filter finds.
func (p *provider) find(filter string) string {
	p.t.Helper()
	found := p.expect(200, "GET", "/Users?filter="+url.QueryEscape(filter), nil).Resources
	if len(found) != 1 {
		return ""
	}
	return found[0]["id"].(string)
}

// syncs are how the providers bring a directory to the service. Each is called again and again, as they do.
var syncs = map[string]func(p *provider, directory []person){
	// learn.microsoft.com, "Develop and plan provisioning for a SCIM endpoint".
	"Entra ID": func(p *provider, directory []person) {
		p.find(`userName eq "a-random-guid"`) // the button "Test connection"
		for _, who := range directory {
			id := p.find(fmt.Sprintf("userName eq %q and externalId eq %q", who.email, who.externalID))
			if id == "" {
				id = p.find(fmt.Sprintf("externalId eq %q", who.externalID))
			}
			if id == "" {
				id = p.find(fmt.Sprintf("userName eq %q", who.email))
			}
			if id == "" {
				p.ids[who.externalID] = p.expect(201, "POST", "/Users", who.body()).ID
				continue
			}
			p.ids[who.externalID] = id
			p.expect(200, "PATCH", "/Users/"+id, map[string]any{
				"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"},
				"Operations": []map[string]any{
					{"op": "Replace", "path": "userName", "value": who.email},
					{"op": "Replace", "path": `emails[type eq "work"].value`, "value": who.email},
					{"op": "Replace", "value": map[string]any{"displayName": who.name(), "name.givenName": who.given, "name.familyName": who.family}},
					{"op": "Add", "path": "externalId", "value": who.externalID},
					{"op": "Add", "path": enterprise + ":department", "value": "Analysis"},
					{"op": "Replace", "path": "active", "value": strings.ToUpper(fmt.Sprint(who.active)[:1]) + fmt.Sprint(who.active)[1:]},
				},
			})
		}
	},
	// developer.okta.com, "Understanding user provisioning using SCIM".
	"Okta": func(p *provider, directory []person) {
		for _, who := range directory {
			id := p.ids[who.externalID]
			if id == "" {
				id = p.find(fmt.Sprintf("userName eq %q", who.email))
			}
			if id == "" {
				p.ids[who.externalID] = p.expect(201, "POST", "/Users", who.body()).ID
				continue
			}
			p.ids[who.externalID] = id
			sent := p.expect(200, "GET", "/Users/"+id, nil).whole
			maps.Copy(sent, who.body())
			p.expect(200, "PUT", "/Users/"+id, sent)
		}
		p.expect(200, "GET", "/Users?startIndex=1&count=100", nil) // the import
	},
	// docs.goauthentik.io, "SCIM provider": it looks a user up only after a 409.
	"authentik": func(p *provider, directory []person) {
		p.expect(200, "GET", "/ServiceProviderConfig", nil)
		for _, who := range directory {
			if p.ids[who.externalID] == "" {
				created := p.send("POST", "/Users", who.body())
				if created.status == 201 {
					p.ids[who.externalID] = created.ID
					continue
				}
				if created.status != 409 || created.ScimType != "uniqueness" {
					p.t.Errorf("a second user is answered %d %v", created.status, created.whole)
				}
				p.ids[who.externalID] = p.find(fmt.Sprintf("userName eq %q", who.email))
			}
			p.expect(200, "PUT", "/Users/"+p.ids[who.externalID], who.body())
		}
	},
	// pocket-id.org, "SCIM": it deletes each user in the list that it does not know.
	"Pocket ID": func(p *provider, directory []person) {
		clear(p.ids)
		for start := 1; ; {
			page := p.expect(200, "GET", fmt.Sprintf("/Users?startIndex=%d&count=1000", start), nil)
			for _, user := range page.Resources {
				p.ids[user["externalId"].(string)] = user["id"].(string)
			}
			if start += len(page.Resources); start > int(page.whole["totalResults"].(float64)) {
				break
			}
		}
		p.expect(200, "GET", "/Groups?startIndex=1&count=1000", nil)
		for _, who := range directory {
			if id := p.ids[who.externalID]; id != "" {
				p.expect(200, "PUT", "/Users/"+id, who.body())
			} else {
				p.ids[who.externalID] = p.expect(201, "POST", "/Users", who.body()).ID
			}
		}
		for external, id := range p.ids {
			if !slices.ContainsFunc(directory, func(who person) bool { return who.externalID == external }) {
				p.expect(204, "DELETE", "/Users/"+id, nil)
				delete(p.ids, external)
			}
		}
	},
}

// Each provider brings its directory to the service, and what changes in it. After each change, the service has exactly the
// users of the directory, and one entry in the feed; and bringing the same again changes nothing.
func TestADirectoryIsKept(t *testing.T) {
	t.Parallel()
	for name, sync := range syncs {
		for _, fields := range []string{needed, all} {
			t.Run(name+" with "+fields, func(t *testing.T) {
				t.Parallel()
				users := program.ServeFeed(t, "USER_FIELDS="+fields)
				p := &provider{t, users, map[string]string{}}
				ada, alan := person{"a-1", "Ada", "Lovelace", "ada@example.org", true}, person{"b-2", "Alan", "Turing", "alan@example.org", true}
				var feed []string
				bring := func(what string, feedHas ...string) {
					t.Helper()
					feed = append(feed, feedHas...)
					directory := []person{ada, alan}
					for _, again := range []string{"", ", again", ", a third time"} {
						sync(p, directory)
						expectUsers(t, users, what+again, directory, p.ids)
						expectFeed(t, users, what+again, feed)
					}
				}
				bring("the first synchronisation", "created 1", "created 2")
				ada.family = "King"
				bring("a change of name", "changed 1")
				ada.email = "Ada.King@example.org"
				bring("a change of email", "changed 1")
				alan.active = false
				bring("a deactivation", "changed 2")
				alan.active = true
				bring("a reactivation", "changed 2")
				p.expect(204, "DELETE", "/Users/"+p.ids["b-2"], nil)
				p.expect(404, "DELETE", "/Users/"+p.ids["b-2"], nil)
				delete(p.ids, "b-2")
				bring("a deletion, and a new user", "deleted 2", "created 3")
			})
		}
	}
}

// expectUsers compares the users with a directory.
func expectUsers(t *testing.T, p *program.Program, when string, directory []person, ids map[string]string) {
	t.Helper()
	var want []string
	for _, who := range directory {
		want = append(want, fmt.Sprintf(`{"id":%s,"name":"%s","email":"%s","created_at":"T","external_id":"%s","active":"%t"…}`,
			ids[who.externalID], who.name(), who.email, who.externalID, who.active))
	}
	if got := send(t, p, "GET /api/users", ""); !program.Matches(got, "200 ["+strings.Join(want, ",")+"]") {
		t.Errorf("after %s the users are\n%s, want\n%s", when, got, want)
	}
}

// expectFeed compares all entries of the feed.
func expectFeed(t *testing.T, p *program.Program, when string, want []string) {
	t.Helper()
	var feed struct {
		Changes []struct {
			Op string
			ID int
		}
	}
	var got []string
	program.WaitFor(t, "the feed has all changes", func() bool {
		text := p.Do(t, "GET", "/api/changes", "").Body
		program.Must(t, json.Unmarshal([]byte(text), &feed))
		return len(feed.Changes) >= len(want)
	})
	for _, change := range feed.Changes {
		got = append(got, fmt.Sprint(change.Op, " ", change.ID))
	}
	if !slices.Equal(got, want) {
		t.Errorf("after %s the feed is %v, want %v", when, got, want)
	}
}
