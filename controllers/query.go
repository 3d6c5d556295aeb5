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
	number("limit", 1, 1000, func(asked *request, value int) { asked.Limit = value }),
	{"after", "the id of a user", func(asked *request, value string) bool {
		id, ok := parseID(value)
		asked.After = &id
		return ok
	}},
	choice("order", func(asked *request, at int) { asked.Descending = at == 1 }, "asc", "desc"),
	choice("count", func(asked *request, at int) { asked.Count = true }, "true"),
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
