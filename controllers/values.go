package controllers

import (
	"strings"
	"time"

	"users-api/models"
)

// valueParameters returns the parameters that are values of users: the id, each field, and each field with another value.
func valueParameters(fields models.Fields) []listParameter {
	all := []listParameter{{name: "id", meaning: "the id of a user", isValue: true, set: func(asked *listRequest, value string) bool {
		equal, _ := fields.Compare("id", models.Equal, value)
		asked.allow("id", equal)
		_, isID := ParseID(value)
		return isID
	}}}
	for _, field := range fields.Settable() {
		for i, operator := range []models.Operator{models.Equal, models.NotEqual} {
			name := field.Name + strings.Repeat("!", i)
			meaning := "the whole " + field.Name + " of a user, in UTF-8"
			all = append(all, listParameter{name: name, meaning: meaning, isValue: true, set: func(asked *listRequest, value string) bool {
				condition, ok := fields.Compare(field.Name, operator, value)
				if operator == models.Equal {
					asked.allow(field.Name, condition)
				} else {
					asked.Where = append(asked.Where, condition)
				}
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
