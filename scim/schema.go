package scim

import (
	"encoding/json"
	"fmt"
	"slices"

	"users-api/controllers"
	"users-api/models"
)

// What the service can do (RFC 7643, section 5).
const serviceProviderConfig = `{
	"schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
	"patch": {"supported": true},
	"bulk": {"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
	"filter": {"supported": true, "maxResults": 1000},
	"changePassword": {"supported": false},
	"sort": {"supported": false},
	"etag": {"supported": false},
	"authenticationSchemes": [
		{"type": "oauthbearertoken", "name": "Key",
			"description": "A key with full access, as a bearer token", "primary": true}
	],
	"meta": {"resourceType": "ServiceProviderConfig", "location": "ServiceProviderConfig"}
}`

// The only kind of resources (RFC 7643, section 6).
const userType = `{
	"schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
	"id": "User", "name": "User", "description": "A user", "endpoint": "/Users",
	"schema": "` + coreSchema + `",
	"schemaExtensions": [%s],
	"meta": {"resourceType": "ResourceType", "location": "ResourceTypes/User"}
}`

// schema is a schema, and schemaAttribute an attribute in it (RFC 7643, section 7).
type schema struct {
	Schemas    []string          `json:"schemas"`
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Attributes []schemaAttribute `json:"attributes"`
	Meta       map[string]string `json:"meta"`
}

type schemaAttribute struct {
	Name          string            `json:"name"`
	Type          string            `json:"type"`
	MultiValued   bool              `json:"multiValued"`
	Required      bool              `json:"required"`
	CaseExact     bool              `json:"caseExact"`
	Mutability    string            `json:"mutability"`
	Returned      string            `json:"returned"`
	Uniqueness    string            `json:"uniqueness"`
	SubAttributes []schemaAttribute `json:"subAttributes,omitempty"`
}

func newAttribute(name, kind string, parts ...schemaAttribute) schemaAttribute {
	return schemaAttribute{
		Name: name, Type: kind, Required: name == "userName", CaseExact: kind == "string", Mutability: "readWrite",
		Returned: "default", Uniqueness: "none", SubAttributes: parts,
	}
}

// describe returns the documents that describe the service, by their URL paths. The schemas have the attributes that a
// field holds, and say what the table enforces: which columns are unique, and whether emails have no case.
func describe(held map[string]*models.Field, unique []string, ignoresCase bool) map[string]any {
	parts := map[string][]schemaAttribute{}
	for _, known := range attributes {
		field := held[known.path]
		if field == nil || known.path == "externalId" { // which is an attribute of every resource
			continue
		}
		parent, name := splitPath(known.path)
		attribute := newAttribute(name, "string")
		attribute.CaseExact = !(field.Unique && ignoresCase)
		if slices.Contains(unique, field.Name) {
			attribute.Uniqueness = "server"
		}
		if name == "active" {
			attribute = newAttribute(name, "boolean")
		}
		parts[parent] = append(parts[parent], attribute)
	}
	emails := append(parts["emails"], newAttribute("type", "string"), newAttribute("primary", "boolean"))
	emails[1].Mutability = "readOnly" // it is always work
	all := newAttribute("emails", "complex", emails...)
	all.MultiValued = true
	schemas := []any{}
	documents := map[string]any{controllers.SCIMRoot + "/ServiceProviderConfig": json.RawMessage(serviceProviderConfig)}
	add := func(id, name string, attributes ...schemaAttribute) {
		added := schema{[]string{"urn:ietf:params:scim:schemas:core:2.0:Schema"}, id, name, attributes,
			map[string]string{"resourceType": "Schema", "location": "Schemas/" + id}}
		documents[controllers.SCIMRoot+"/Schemas/"+id], schemas = added, append(schemas, added)
	}
	add(coreSchema, "User", append(parts[""], newAttribute("name", "complex", parts["name"]...), all)...)
	extension := ""
	if enterprise := parts[enterpriseSchema]; len(enterprise) > 0 {
		add(enterpriseSchema, "EnterpriseUser", enterprise...)
		extension = `{"schema": "` + enterpriseSchema + `", "required": false}`
	}
	user := json.RawMessage(fmt.Sprintf(userType, extension))
	documents[controllers.SCIMRoot+"/ResourceTypes"] = newList(1, 1, []any{user})
	documents[controllers.SCIMRoot+"/ResourceTypes/User"] = user
	documents[controllers.SCIMRoot+"/Schemas"] = newList(int64(len(schemas)), 1, schemas)
	return documents
}
