package scim

import (
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"users-api/controllers"
)

// patch is the body of PATCH /scim/v2/Users/:id (RFC 7644, section 3.5.2).
type patch struct {
	Operations []struct {
		Op, Path string
		Value    jsontext.Value
	}
}

// UnmarshalJSON reads an object. Its keys may be in any letter case (RFC 7643, section 2.1).
func (p *patch) UnmarshalJSON(sent []byte) error {
	type plain patch // without this method
	if json.Unmarshal(sent, (*plain)(p)) != nil || len(p.Operations) == 0 {
		return controllers.NewError("body_invalid",
			"Operations must be a list of objects, each with an op, a path and a value")
	}
	return nil
}

// apply changes a resource. To replace a value and to add one are the same, but for emails: no other has several.
func (p *patch) apply(r resource) error {
	id, userName := r["id"], r["userName"]
	for _, operation := range p.Operations {
		op, path, value := strings.ToLower(operation.Op), operation.Path, operation.Value
		attribute, ok := r.find(path)
		switch {
		case op != "add" && op != "replace" && op != "remove":
			return controllers.NewError("body_invalid", `An op must be add, replace or remove, not "%s"`,
				controllers.Shorten(operation.Op))
		case !ok && (path != "" || op == "remove"):
			return controllers.NewError("field_unknown", `"%s" is no path of an attribute`, controllers.Shorten(path))
		case attribute == "active" && (op == "remove" || value.Kind() == 'n'):
			return controllers.NewError("field_read_only", "active cannot be taken away")
		case op == "remove":
			named := resource{}
			if attribute == "emails" && value.Kind() != 0 && value.Kind() != 'n' && named.setEmail(value, false) == nil &&
				!strings.EqualFold(named["emails.value"], r["emails.value"]) {
				attribute = "" // another email is meant
			}
			value = jsontext.Value("null")
		case len(value) == 0, path == "" && value.Kind() != '{':
			return controllers.NewError("field_invalid", "An operation without a path needs an object of attributes "+
				"as its value, and any other a value")
		}
		var err error
		if path == "" {
			err = r.takeParts("", value, op == "add")
		} else {
			err = r.set(attribute, value, op == "add" && !strings.Contains(path, "["))
		}
		if err != nil {
			return err
		}
	}
	switch {
	case r["id"] != id:
		return controllers.NewError("field_read_only", "id cannot be changed")
	case r["userName"] == "" && userName != "":
		return controllers.NewError("field_read_only", "userName cannot be taken away")
	}
	return nil
}
