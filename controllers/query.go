package controllers

import (
	"fmt"
	"net/url"
	"strconv"
	"unicode/utf8"

	"users-api/models"
)

// maxContains is the maximum length of q, in characters: the time of a search grows with it and with the names.
const maxContains = 1000

// listParameters returns the parameters of GET /api/users.
func listParameters(fields models.Fields) parameters {
	var all []parameter
	for _, field := range fields {
		if field.Filters {
			meaning := "the whole " + field.Name + " of a user, in UTF-8"
			all = append(all, parameter{field.Name, meaning, func(asked *request, value string) bool {
				asked.Equal.Set(field, value)
				return true
			}})
		}
	}
	anyField := join(withArticles(fields.Names()), "or")
	meaning := fmt.Sprintf("a part of %s, in UTF-8, of at most %d characters", anyField, maxContains)
	all = append(all, parameter{"q", meaning, func(asked *request, value string) bool {
		asked.Contains = value
		return utf8.RuneCountInString(value) <= maxContains
	}})
	return parameters{"a list", append(all, pageParameters...)}
}

// pageParameters say which of the users that match are listed.
var pageParameters = []parameter{
	{"limit", "a whole number from 1 to 1000", func(asked *request, value string) bool {
		number, ok := parseID(value)
		asked.Limit = int(number)
		return ok && number >= 1 && number <= 1000
	}},
	{"after", "the id of a user", func(asked *request, value string) bool {
		id, ok := parseID(value)
		asked.After = &id
		return ok
	}},
	{"order", "asc or desc", func(asked *request, value string) bool {
		asked.Descending = value == "desc"
		return asked.Descending || value == "asc"
	}},
	{"count", "true", func(asked *request, value string) bool {
		asked.Count = true
		return value == "true"
	}},
}

// next returns the reference of the page after a user: all parameters of the request, with another after. It is only a
// query, so that it works behind any prefix that a proxy puts before the path.
func (r *request) next(after int64) string {
	reference := []byte("?")
	for _, sent := range r.sent {
		if sent.name != "after" {
			reference = append(reference, sent.name+"="+url.QueryEscape(sent.value)+"&"...)
		}
	}
	return string(strconv.AppendInt(append(reference, "after="...), after, 10))
}
