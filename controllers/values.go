package controllers

import (
	"maps"
	"slices"
	"strings"
	"time"

	"users-api/models"
)

// values are the conditions that parameters for values of users are: a user has one of the values of each parameter.
type values struct {
	equal map[string]models.Or // by the name of a field
	other models.And
}

func (v *values) add(field string, isOther bool, condition models.Condition) {
	if isOther {
		v.other = append(v.other, condition)
		return
	}
	if v.equal == nil {
		v.equal = map[string]models.Or{}
	}
	v.equal[field] = append(v.equal[field], condition)
}

// conditions returns one for each field with values. An index finds the user with one email only if it stands by itself.
func (v *values) conditions() (all models.And) {
	for _, field := range slices.Sorted(maps.Keys(v.equal)) {
		if anyOf := v.equal[field]; len(anyOf) == 1 {
			all = append(all, anyOf[0])
		} else {
			all = append(all, anyOf)
		}
	}
	return append(all, v.other...)
}

// valueParameters returns the parameters that are values of users: the id, each field, and each field with another value.
func valueParameters(fields models.Fields) []listParameter {
	all := []listParameter{{name: "id", meaning: "the id of a user", isValue: true, set: func(asked *listRequest, value string) bool {
		equal, _ := fields.Compare("id", models.Equal, value)
		asked.values.add("id", false, equal)
		_, isID := ParseID(value)
		return isID
	}}}
	for _, field := range fields.Settable() {
		for i, operator := range []models.Operator{models.Equal, models.NotEqual} {
			name := field.Name + strings.Repeat("!", i)
			meaning := "the whole " + field.Name + " of a user, in UTF-8"
			all = append(all, listParameter{name: name, meaning: meaning, isValue: true, set: func(asked *listRequest, value string) bool {
				condition, ok := fields.Compare(field.Name, operator, value)
				asked.values.add(field.Name, operator == models.NotEqual, condition)
				return ok
			}})
		}
	}
	return all
}

// bound returns a parameter that compares a time of users.
func bound(fields models.Fields, name, column string, operator models.Operator) listParameter {
	const meaning = "a day or a time in UTC, such as 2026-01-31 or 2026-01-31 12:00:00"
	return listParameter{name: name, meaning: meaning, set: func(asked *listRequest, value string) bool {
		for _, form := range []string{
			time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z", "2006-01-02 15:04:05Z",
		} {
			// Parse would take a fraction of a second, too.
			if parsed, err := time.Parse(form, value); err == nil && parsed.Format(form) == value {
				condition, ok := fields.Compare(column, operator, parsed.Format(time.DateTime))
				asked.Where = append(asked.Where, condition)
				return ok
			}
		}
		return false
	}}
}
