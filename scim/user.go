package scim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"users-api/controllers"
	"users-api/models"
)

// The schemas of a user (RFC 7643, sections 4.1 and 4.3).
const (
	coreSchema       = "urn:ietf:params:scim:schemas:core:2.0:User"
	enterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
)

// attributes are the attributes that are known, each with the field that holds it, if users have that field. All are
// texts, but for active and those that consist of others.
var attributes = []struct{ path, field string }{
	{"id", ""},
	{"userName", "user_name"}, // otherwise the email
	{"displayName", "name"},
	{"name", ""},
	{"name.formatted", "name"},
	{"name.givenName", "given_name"},
	{"name.familyName", "family_name"},
	{"emails", ""},
	{"emails.value", "email"},
	{"externalId", "external_id"},
	{"active", "active"},
	{"meta.created", ""},
	{"meta.lastModified", ""},
	{"title", "title"},
	{"userType", "user_type"},
	{"preferredLanguage", "preferred_language"},
	{"locale", "locale"},
	{"timezone", "timezone"},
	{enterpriseSchema, ""},
	{enterpriseSchema + ":employeeNumber", "employee_number"},
	{enterpriseSchema + ":costCenter", "cost_center"},
	{enterpriseSchema + ":organization", "organization"},
	{enterpriseSchema + ":division", "division"},
	{enterpriseSchema + ":department", "department"},
}

// timeAttributes are the parts of meta that are times, by their columns.
var timeAttributes = map[string]string{"created_at": "created", models.UpdatedAt: "lastModified"}

// attributePath is the path of an attribute, with its filter and its part (RFC 7644, section 3.5.2).
var attributePath = regexp.MustCompile(`(?is)^((?:urn:[\w.:-]+:)?[a-z$][\w-]*)(\[.*\])?(\.[a-z$][\w-]*)?$`)

// splitPath returns the path of what an attribute is a part of, or "", and its name in that.
func splitPath(path string) (parent, name string) {
	at := strings.LastIndexAny(path, ".:")
	return path[:max(at, 0)], path[at+1:]
}

// findAttribute returns the path of an attribute as the RFC writes it, for a path in any letter case, or "" if no field
// can hold it.
func findAttribute(path string) string {
	for _, known := range attributes {
		if strings.EqualFold(known.path, path) || strings.EqualFold(coreSchema+":"+known.path, path) {
			return known.path
		}
	}
	return ""
}

// resource is a user as SCIM sees it: the texts of its attributes, by their paths. active is "true" or "false".
type resource map[string]string

// find is findAttribute for a path that may have a filter. It returns "", too, if the filter does not select the email
// of the user. It is not ok if the path is malformed.
func (r resource) find(path string) (attribute string, ok bool) {
	parts := attributePath.FindStringSubmatch(path)
	if parts == nil {
		return "", false
	}
	if selection := parts[2]; selection != "" {
		parsed := parseFilter(selection[1 : len(selection)-1])
		own := map[string]string{"type": "work", "primary": "true", "value": r["emails.value"]}
		if findAttribute(parts[1]) != "emails" || !parsed.selects(parsed.Expression, own) {
			return "", parsed.Expression != nil
		}
	}
	return findAttribute(parts[1] + parts[3]), true
}

// show returns a user as SCIM sees it.
func (s *API) show(user *models.User) resource {
	shown := resource{"id": strconv.FormatInt(user.ID, 10)}
	for path, field := range s.held {
		if text := field.Value(&user.Profile); text != nil && *text != "" {
			shown[path] = *text
		}
	}
	shown["active"] = strconv.FormatBool(!slices.Contains(models.FalseWords, models.LowerASCII(shown["active"])))
	return shown
}

// render returns a user as JSON shows it (RFC 7643, section 8).
func (s *API) render(user *models.User) map[string]any {
	all := map[string]any{}
	parts := map[string]map[string]string{"name": {}, "emails": {}, enterpriseSchema: {}}
	shown := s.show(user)
	if name := s.shownName(&user.Profile); name != "" {
		shown["userName"] = name
	}
	for path, text := range shown {
		if parent, name := splitPath(path); parent != "" {
			parts[parent][name] = text
		} else {
			all[name] = text
		}
	}
	schemas := []string{coreSchema}
	if enterprise := parts[enterpriseSchema]; len(enterprise) > 0 {
		schemas, all[enterpriseSchema] = append(schemas, enterpriseSchema), enterprise
	}
	all["schemas"], all["name"], all["active"] = schemas, parts["name"], all["active"] == "true"
	all["emails"] = []any{}
	if strings.Contains(user.Email, "@") { // otherwise it is no address, and providers parse those that they read
		all["emails"] = []any{map[string]any{"value": user.Email, "type": "work", "primary": true}}
	}
	meta := map[string]string{"resourceType": "User", "location": location(user.ID)}
	for _, column := range s.fields.Times() {
		if moment, err := time.Parse(time.DateTime, s.fields.Text(user, column)); err == nil {
			meta[timeAttributes[column]] = moment.Format(time.RFC3339)
		}
	}
	all["meta"] = meta
	return all
}

// shownName returns the userName of a user: the email, if it has no other.
func (s *API) shownName(user *models.Profile) string {
	if own := s.held["userName"].Value(user); own != nil && *own != "" {
		return *own
	}
	return user.Email
}

// location returns the reference of a user. It is relative to the address of /scim/v2 (RFC 7643, section 2.3.7), so
// that it works behind any prefix of a proxy.
func location(id int64) string { return "Users/" + strconv.FormatInt(id, 10) }

// UnmarshalJSON reads the attributes of a whole user. What no schema has is dropped.
func (r resource) UnmarshalJSON(sent []byte) error {
	err := r.takeParts("", sent, false)
	if err == nil && r["userName"] == "" {
		err = errNoUserName
	}
	return err
}

func (r resource) takeParts(parent string, sent jsontext.Value, adds bool) error {
	for name, value := range controllers.Members(sent) {
		attribute, _ := r.find(parent + name)
		if err := r.set(attribute, value, adds && !strings.Contains(name, "[")); err != nil {
			return err
		}
	}
	return nil
}

// set gives an attribute a value of JSON. null takes it away, with its parts. Emails may be added to the one there.
func (r resource) set(attribute string, value jsontext.Value, adds bool) error {
	switch kind := value.Kind(); {
	case attribute == "":
	case kind == 'n':
		maps.DeleteFunc(r, func(path, _ string) bool {
			return path == attribute || strings.HasPrefix(path, attribute+".") || strings.HasPrefix(path, attribute+":")
		})
	case attribute == "emails":
		return r.setEmail(value, adds)
	case attribute == "active":
		active, ok := truth(value)
		if !ok {
			return controllers.NewError("field_invalid", "active must be true or false, not %s", controllers.Kinds[kind])
		}
		r["active"] = strconv.FormatBool(active)
	case attribute == "name" && kind == '{':
		return r.takeParts("name.", value, false)
	case attribute == enterpriseSchema && kind == '{':
		return r.takeParts(enterpriseSchema+":", value, false)
	case attribute == "name" || attribute == enterpriseSchema:
		return controllers.NewError("field_invalid", "%s must be an object, not %s", attribute, controllers.Kinds[kind])
	case value[0] != '"':
		return controllers.NewError("field_invalid", "%s must be a text, not %s", attribute, controllers.Kinds[kind])
	default:
		r[attribute] = controllers.Decoded(value)
	}
	return nil
}

// setEmail takes the primary one of several emails, or else the first: of those that are added, the one that is there.
func (r resource) setEmail(value jsontext.Value, adds bool) error {
	if value.Kind() == '{' {
		value = bytes.Join([][]byte{[]byte("["), value, []byte("]")}, nil)
	}
	var sent []struct {
		Value   string
		Primary json.RawMessage
	}
	if json.Unmarshal(value, &sent) != nil {
		return controllers.NewError("field_invalid", "emails must be a list of objects, each with a value that is a text")
	}
	if !adds {
		delete(r, "emails.value")
	}
	hasFirst := strings.Contains(r["emails.value"], "@")
	for _, email := range sent {
		if isPrimary, _ := truth(email.Primary); isPrimary || !hasFirst {
			r["emails.value"], hasFirst = email.Value, true
			if isPrimary {
				break
			}
		}
	}
	return nil
}

// truth reads a boolean, which some providers send as a text.
func truth(value []byte) (is, ok bool) {
	text := strings.ToLower(string(bytes.Trim(value, `"`)))
	return text == "true", text == "true" || text == "false"
}

// values returns the values that the fields of a user get from a resource, or from what a PATCH makes of the one
// before. A PATCH of givenName or familyName makes a new name of both, if both are known. Without a userName, a user
// keeps name and email.
func (s *API) values(r, before resource) (values models.Values) {
	const given, family = "name.givenName", "name.familyName"
	name, fullName := cmp.Or(r["displayName"], r["name.formatted"]), strings.Trim(r[given]+" "+r[family], " ")
	isKnown := (r[given] != "" || s.held[given] != nil) && (r[family] != "" || s.held[family] != nil)
	if name == "" && (!isKnown || r[given] == before[given] && r[family] == before[family]) {
		name = before["displayName"]
	}
	email := r["emails.value"]
	if s.held["userName"].Required && email == before["emails.value"] {
		email = r["userName"]
	}
	for path, field := range s.held {
		text, ok := r[path]
		switch {
		case field.Required, path == "active" && !ok:
		case text != "":
			values.Set(field, text)
		default:
			values.SetNull(field)
		}
	}
	values.Set(s.held["displayName"], cmp.Or(name, fullName, before["displayName"], r["userName"]))
	values.Set(s.held["emails.value"], cmp.Or(email, r["userName"], before["emails.value"]))
	return values
}
