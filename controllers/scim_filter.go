package controllers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"users-api/models"
)

// condition is a part of a filter: the attribute at a path has exactly this value of JSON.
type condition struct{ path, value string }

// parseFilter parses a filter (RFC 7644, section 3.4.2.2). It knows what identity providers send: conditions with eq, joined
// by and.
func parseFilter(filter string) (conditions []condition, err error) {
	words := splitFilter(filter)
	if len(words)%4 != 3 {
		return nil, errFilter
	}
	for at := 0; at < len(words); at += 4 {
		path, operator, value := words[at], words[at+1], words[at+2]
		isLast := at+3 == len(words)
		isValue := json.Valid([]byte(value)) && strings.TrimSpace(value) == value
		if !strings.EqualFold(operator, "eq") || !isValue || !isLast && !strings.EqualFold(words[at+3], "and") {
			return nil, errFilter
		}
		conditions = append(conditions, condition{path, value})
	}
	return conditions, nil
}

// splitFilter splits a filter at its spaces, but for those within quotes or brackets.
func splitFilter(filter string) (words []string) {
	begin, depth, isQuoted := 0, 0, false
	for at := 0; at < len(filter); at++ {
		switch char := filter[at]; {
		case isQuoted && char == '\\':
			at++
		case char == '"':
			isQuoted = !isQuoted
		case isQuoted:
		case char == '[':
			depth++
		case char == ']':
			depth--
		case char == ' ' && depth == 0:
			words, begin = append(words, filter[begin:at]), at+1
		}
	}
	return append(words, filter[begin:])
}

// filterAttributes are those that a filter may name.
var filterAttributes = []string{"userName", "externalId", "id", "active", "displayName", "emails.value"}

// find returns the query for a filter. isNone says that no user can match, because its conditions contradict each other.
func (s *SCIM) find(ctx context.Context, filter string) (query models.Query, isNone bool, err error) {
	conditions, err := parseFilter(filter)
	_, ignoresCase, failed := s.users.Uniqueness(ctx)
	if err = cmp.Or(err, failed); err != nil {
		return query, false, err
	}
	for _, c := range conditions {
		attribute, _ := findAttribute(c.path)
		if strings.EqualFold(c.path, "emails") {
			attribute = "emails.value"
		}
		wanted := resource{}
		if !slices.Contains(filterAttributes, attribute) || wanted.set(attribute, []byte(c.value), false) != nil || len(wanted) == 0 {
			return query, false, errFilter
		}
		switch field, text := s.held[attribute], wanted[attribute]; {
		case attribute == "id":
			id, ok := parseID(text)
			isNone = isNone || !ok || query.ID != nil && *query.ID != id
			query.ID = &id
		case attribute == "active" && text == "true": // also where the field says something else, or nothing
			query.Unequal.Set(field, "false")
		case query.Equal.Fields.Has(field):
			before := *field.Value(&query.Equal.User)
			isSame := before == text || field.Unique && ignoresCase && models.LowerASCII(before) == models.LowerASCII(text)
			isNone = isNone || !isSame
		default:
			query.Equal.Set(field, text)
		}
	}
	return query, isNone, nil
}
