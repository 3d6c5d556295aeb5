package controllers

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// parameters describe what a query string may contain. Anything unknown is an error for the client: a misspelt filter
// must not list all users, and a misspelt dry_run must not store anything.
type parameters struct {
	takes   string                        // which parameters there are, for the error
	expects func(name string) string      // the valid values of a parameter; "" for an unknown one
	set     func(name, value string) bool // stores the value, and reports whether it is valid
}

type parameter struct{ name, value string }

// parse reads a query string, and returns its parameters in the order in which they were sent.
func (p parameters) parse(query string) (given []parameter, err error) {
	if query == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(query, "&") {
		if given, err = p.add(given, part); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// add reads one parameter.
func (p parameters) add(given []parameter, part string) ([]parameter, error) {
	name, value, _ := strings.Cut(part, "=")
	if decoded, err := url.QueryUnescape(name); err == nil {
		name = decoded
	}
	meaning := p.expects(name)
	if meaning == "" {
		return nil, badRequest(`Unknown parameter "%s": %s`, shorten(name), p.takes)
	}
	if slices.ContainsFunc(given, func(earlier parameter) bool { return earlier.name == name }) {
		return nil, badRequest("The parameter %s must be given once, as %s", name, meaning)
	}
	value, err := url.QueryUnescape(value)
	if err != nil {
		return nil, badRequest("The parameter %s must be %s, with each %% of it written as %%25", name, meaning)
	}
	if value == "" || !utf8.ValidString(value) || !p.set(name, value) {
		return nil, badRequest("The parameter %s must be %s", name, meaning)
	}
	return append(given, parameter{name, value}), nil
}
