package controllers

import (
	"fmt"
	"net/url"
	"strconv"
	"unicode/utf8"

	"users-api/models"
)

// search holds the parameters of GET /api/users.
type search struct {
	models.Query
	count bool        // also return how many users match
	given []parameter // in the order in which they were sent
}

// parseSearch reads the query string of a list.
func parseSearch(query string) (search, error) {
	var asked search
	var err error
	asked.given, err = asked.parameters().parse(query)
	return asked, err
}

func (s *search) parameters() parameters {
	return parameters{"a list takes email, q, limit, after, order and count", expects, s.set}
}

// maxContains is the maximum length of q, in characters: the time of a search grows with it and with the names.
const maxContains = 1000

// expects describes the valid values of a parameter. It returns "" for an unknown one.
func expects(name string) string {
	switch name {
	case "email":
		return "the whole email of a user, in UTF-8"
	case "q":
		return fmt.Sprintf("a part of a name or an email, in UTF-8, of at most %d characters", maxContains)
	case "limit":
		return "a whole number from 1 to 1000"
	case "after":
		return "the id of a user"
	case "order":
		return "asc or desc"
	case "count":
		return "true"
	default:
		return ""
	}
}

// set stores the value of a parameter, and reports whether it is valid.
func (s *search) set(name, value string) bool {
	number, isNumber := parseID(value)
	switch name {
	case "email":
		s.Email = &value
		return true
	case "q":
		s.Contains = value
		return utf8.RuneCountInString(value) <= maxContains
	case "limit":
		s.Limit = int(number)
		return isNumber && number >= 1 && number <= 1000
	case "after":
		s.After = &number
		return isNumber
	case "order":
		s.Descending = value == "desc"
		return s.Descending || value == "asc"
	default: // count
		s.count = true
		return value == "true"
	}
}

// next returns the reference of the page after a user: all parameters of the request, with another after. It is only a
// query, so that it works behind any prefix that a proxy puts before the path.
func (s *search) next(after int64) string {
	reference := []byte("?")
	for _, given := range s.given {
		if given.name != "after" {
			reference = append(reference, given.name+"="+url.QueryEscape(given.value)+"&"...)
		}
	}
	return string(strconv.AppendInt(append(reference, "after="...), after, 10))
}
