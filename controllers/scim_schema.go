package controllers

import (
	"encoding/json"
	"strings"

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
		{"type": "oauthbearertoken", "name": "Key", "description": "A key with full access, as a bearer token", "primary": true}
	],
	"meta": {"resourceType": "ServiceProviderConfig", "location": "ServiceProviderConfig"}
}`

// The only kind of resources (RFC 7643, section 6).
const userType = `{
	"schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
	"id": "User", "name": "User", "description": "A user", "endpoint": "/Users",
	"schema": "` + coreSchema + `",
	"schemaExtensions": [{"schema": "` + enterpriseSchema + `", "required": false}],
	"meta": {"resourceType": "ResourceType", "location": "ResourceTypes/User"}
}`

// scimSchema is a schema, and schemaAttribute an attribute in it (RFC 7643, section 7).
type scimSchema struct {
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

// describe returns the documents that describe the service, by their URL paths. The schemas have the attributes that a field
// holds.
func describe(held map[string]*models.Field) map[string]any {
	var core, name []schemaAttribute
	enterprise := []schemaAttribute{}
	for _, known := range attributes {
		if held[known.path] == nil {
			continue
		}
		if part, ok := strings.CutPrefix(known.path, "name."); ok {
			name = append(name, newAttribute(part, "string"))
		} else if part, ok := strings.CutPrefix(known.path, enterpriseSchema+":"); ok {
			enterprise = append(enterprise, newAttribute(part, "string"))
		} else if known.path == "active" {
			core = append(core, newAttribute(known.path, "boolean"))
		} else if known.path != "emails.value" && known.path != "externalId" { // which is an attribute of every resource
			core = append(core, newAttribute(known.path, "string"))
		}
	}
	core[0].Uniqueness = "server" // the userName
	emails := newAttribute("emails", "complex", newAttribute("value", "string"), newAttribute("type", "string"),
		newAttribute("primary", "boolean"))
	emails.MultiValued = true
	core = append(core, newAttribute("name", "complex", name...), emails)
	documents := map[string]any{
		scimRoot + "/ServiceProviderConfig": json.RawMessage(serviceProviderConfig),
		scimRoot + "/ResourceTypes":         newSCIMList(1, 1, []any{json.RawMessage(userType)}),
		scimRoot + "/ResourceTypes/User":    json.RawMessage(userType),
	}
	var schemas []any
	for _, schema := range []scimSchema{{ID: coreSchema, Name: "User", Attributes: core},
		{ID: enterpriseSchema, Name: "EnterpriseUser", Attributes: enterprise}} {
		schema.Schemas = []string{"urn:ietf:params:scim:schemas:core:2.0:Schema"}
		schema.Meta = map[string]string{"resourceType": "Schema", "location": "Schemas/" + schema.ID}
		documents[scimRoot+"/Schemas/"+schema.ID] = schema
		schemas = append(schemas, schema)
	}
	documents[scimRoot+"/Schemas"] = newSCIMList(2, 1, schemas)
	return documents
}
