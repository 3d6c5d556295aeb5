package controllers

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"users-api/database"
	"users-api/models"
)

// request is what the parameters of a query string ask for.
type request struct {
	models.Query
	database.ImportOptions
	cursor      string
	after       string // the place after which a page begins, as next has written it
	wait        time.Duration
	spreadsheet bool
	sent        []sentParameter // in the order in which they were sent
	values      values          // that users may have
}

type sentParameter struct{ name, value string }

func (r *request) has(name string) bool {
	return slices.ContainsFunc(r.sent, func(sent sentParameter) bool { return sent.name == name })
}

// next returns the reference of the page after a place: all parameters of the request, with another after. It is only a
// query, so that it works behind any prefix that a proxy puts before the path.
func (r *request) next(place models.Place) string {
	after := strconv.FormatInt(place.ID, 10)
	if r.Sort != "" {
		after = base64.RawURLEncoding.EncodeToString([]byte(r.Sort + " " + after + " " + place.Key))
	}
	reference := []byte("?")
	for _, sent := range r.sent {
		if sent.name != "after" {
			reference = append(reference, sent.name+"="+url.QueryEscape(sent.value)+"&"...)
		}
	}
	return string(append(reference, "after="+after...))
}

// complete checks the parameters of a page that depend on one another: what after may be depends on the sort.
func (r *request) complete() error {
	if r.has("sort") && r.Limit == 0 {
		return NewError("parameter_invalid", "The parameter sort must come with limit: users are sorted page by page")
	}
	if r.after == "" {
		return nil
	}
	var place models.Place
	text, meaning := r.after, "the id of a user"
	fits := true
	if r.Sort != "" {
		meaning = "what the Link of a page with sort=" + r.Sort + " says"
		decoded, err := base64.RawURLEncoding.DecodeString(text)
		text, fits = strings.CutPrefix(string(decoded), r.Sort+" ")
		text, place.Key, _ = strings.Cut(text, " ")
		fits = fits && err == nil
	}
	id, isID := ParseID(text)
	if !fits || !isID {
		return NewError("parameter_invalid", "The parameter after must be %s", meaning)
	}
	place.ID = id
	r.After = &place
	return nil
}

// parameters are what a query string may contain. Anything unknown is an error for the client: a misspelt filter must
// not list all users, and a misspelt dry_run must not store anything.
type parameters struct {
	of  string // what they belong to, with its article
	all []parameter
}

type parameter struct {
	name, meaning string                                  // the meaning describes the valid values
	set           func(asked *request, value string) bool // stores a value, and reports whether it is valid
	isValue       bool                                    // it is a value of users, and may be given again
}

// and returns the parameters of something that takes one more.
func (p parameters) and(of string, more parameter) parameters {
	return parameters{of, append(slices.Clip(p.all), more)}
}

func (p parameters) parse(query string) (asked request, err error) {
	if query == "" {
		return asked, nil
	}
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		at := slices.IndexFunc(p.all, func(known parameter) bool { return known.name == name })
		if at < 0 {
			return asked, NewError("parameter_unknown", `Unknown parameter "%s": %s takes %s`, Shorten(name), p.of,
				join(p.names(), "and"))
		}
		meaning := p.all[at].meaning
		if p.all[at].isValue && asked.values.count == maxValues {
			return asked, NewError("parameter_invalid", "The parameter %s must be one of at most %d values of users in a request",
				name, maxValues)
		}
		if asked.has(name) && !p.all[at].isValue {
			return asked, NewError("parameter_invalid", "The parameter %s must be given once, as %s", name, meaning)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			meaning += ", with each % of it written as %25"
		}
		if err != nil || !utf8.ValidString(value) || !p.all[at].set(&asked, value) {
			return asked, NewError("parameter_invalid", "The parameter %s must be %s", name, meaning)
		}
		asked.sent = append(asked.sent, sentParameter{name, value})
	}
	asked.Where = append(asked.Where, asked.values.conditions()...)
	return asked, asked.complete()
}

func (p parameters) names() (names []string) {
	for _, known := range p.all {
		names = append(names, known.name)
	}
	return names
}

// choice returns a parameter that has one of a few values. set takes the place of its value among them.
func choice(name string, set func(asked *request, at int), values ...string) parameter {
	return parameter{name: name, meaning: join(values, "or"), set: func(asked *request, value string) bool {
		at := slices.Index(values, value)
		set(asked, at)
		return at >= 0
	}}
}

// number returns a parameter that is a whole number within a range.
func number(name string, least, most int64, set func(asked *request, value int)) parameter {
	meaning := fmt.Sprintf("a whole number from %d to %d", least, most)
	return parameter{name: name, meaning: meaning, set: func(asked *request, value string) bool {
		number, ok := ParseID(value)
		set(asked, int(number))
		return ok && least <= number && number <= most
	}}
}

// spreadsheet is a parameter of files that are CSV.
var spreadsheet = choice("spreadsheet", func(asked *request, at int) { asked.spreadsheet = at == 0 }, "true", "false")

// maxContains is the maximum length of q, in characters: the time of a search grows with it and with the names.
const maxContains = 1000

// listParameters returns the parameters of GET /api/users.
func listParameters(fields models.Fields) parameters {
	all := valueParameters(fields)
	searched := "any field"
	if len(fields.Settable().OptionalNames()) == 0 {
		searched = join(withArticles(fields.Settable().Names()), "or")
	}
	meaning := fmt.Sprintf("words that are parts of %s, in UTF-8, of at most %d characters", searched, maxContains)
	all = append(all, parameter{name: "q", meaning: meaning, set: func(asked *request, value string) bool {
		asked.Where = append(asked.Where, models.Search(value))
		return strings.TrimSpace(value) != "" && utf8.RuneCountInString(value) <= maxContains
	}})
	for _, column := range fields.Times() {
		done := strings.TrimSuffix(column, "at") // created_ or updated_
		all = append(all, bound(fields, done+"from", column, models.AtLeast), bound(fields, done+"to", column, models.Less))
	}
	columns := fields.Columns()
	all = append(all, choice("sort", func(asked *request, at int) {
		if asked.Sort = ""; at > 0 { // users come by id without it, too
			asked.Sort = columns[at]
		}
	}, columns...))
	return parameters{"a list", append(all, pageParameters...)}
}

// pageParameters say which of the users that match are listed.
var pageParameters = []parameter{
	number("limit", 1, 1000, func(asked *request, value int) { asked.Limit = value }),
	{
		name: "after", meaning: "the id of a user, or with sort what the Link of a page says",
		set: func(asked *request, value string) bool {
			asked.after = value
			return value != ""
		},
	},
	choice("order", func(asked *request, at int) { asked.Descending = at == 1 }, "asc", "desc"),
	choice("count", func(asked *request, at int) { asked.Count = true }, "true"),
}

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// CheckAdded returns an error if a setting cannot add fields with these names. Those of parameters are taken, of any
// endpoint: a field may filter there one day.
func CheckAdded(names []string) error {
	if len(names) > models.MaxAdded {
		return fmt.Errorf("it names %d fields, and at most %d can be added", len(names), models.MaxAdded)
	}
	own, most := models.NewFields(), models.NewFields(models.UpdatedAt)
	for i, name := range names {
		switch {
		case !fieldName.MatchString(name):
			return fmt.Errorf("%q cannot be the name of a field: it has 1 to 40 of the characters a-z, 0-9 and _, and begins "+
				"with a letter", name)
		case slices.Contains(own.Columns(), name):
			return fmt.Errorf("every user has the field %s already", name)
		case name == "filter", slices.Contains(slices.Concat(listParameters(most).names(), csvImport.names(),
			changesParameters.names()), name):
			return fmt.Errorf("%s is a parameter of the API, so a field cannot have that name", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("it names %s twice", name)
		}
	}
	return nil
}
