package controllers

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"users-api/models"
)

// condition is a part of a filter: the attribute at a path has exactly this value of JSON.
type condition struct{ path, value string }

// A word of a filter has no spaces, but for those within quotes or brackets.
const (
	filterText = `"(?:[^"\\]|\\.)*"`
	filterWord = `((?:[^\s"\[\]]|` + filterText + `|\[(?:[^"\[\]]|` + filterText + `)*\])+)`
)

// filterCondition is the first condition of a filter, with the word that joins it to the next.
var filterCondition = regexp.MustCompile(`(?is)^` + filterWord + ` eq ` + filterWord + `( and |$)`)

// parseFilter parses a filter (RFC 7644, section 3.4.2.2). It knows what identity providers send: conditions with eq,
// joined by and.
func parseFilter(filter string) (conditions []condition, err error) {
	for joined := " and "; joined != ""; {
		parts := filterCondition.FindStringSubmatch(filter)
		if parts == nil || !json.Valid([]byte(parts[2])) {
			return nil, errFilter
		}
		conditions = append(conditions, condition{parts[1], parts[2]})
		filter, joined = filter[len(parts[0]):], parts[3]
	}
	return conditions, nil
}

// filterAttributes are those that a filter may name.
var filterAttributes = []string{"userName", "externalId", "id", "active", "displayName", "emails.value"}

// find returns the condition that a filter is.
func (s *SCIM) find(filter string) (models.Condition, error) {
	conditions, err := parseFilter(filter)
	all := make(models.And, len(conditions))
	for i, c := range conditions {
		attribute, _ := findAttribute(c.path)
		if strings.EqualFold(c.path, "emails") {
			attribute = "emails.value"
		}
		wanted := resource{}
		known := slices.Contains(filterAttributes, attribute)
		if !known || wanted.set(attribute, []byte(c.value), false) != nil || len(wanted) == 0 {
			return nil, errFilter
		}
		switch field, text := s.held[attribute], wanted[attribute]; {
		case attribute == "id":
			all[i], _ = s.fields.Compare("id", models.Equal, text)
		case attribute == "active" && text == "true": // also where the field says something else, or nothing
			all[i], _ = s.fields.Compare(field.Name, models.NotEqual, "false")
		default:
			all[i], _ = s.fields.Compare(field.Name, models.Equal, text)
		}
	}
	return all, err
}
