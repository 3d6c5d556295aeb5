package controllers

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"users-api/models"
)

// parameters are what a query string may contain, and what each sets of a request. Anything unknown is an error for the
// client: a misspelt filter must not list all users, and a misspelt dry_run must not store anything.
type parameters[Request any] struct {
	of  string // what they belong to, with its article
	all []parameter[Request]
}

type parameter[Request any] struct {
	name, meaning string                                  // the meaning describes the valid values
	set           func(asked *Request, value string) bool // stores a value, and reports whether it is valid
	isValue       bool                                    // it is a value of users, and may be given again
}

// maxValues is how many values of users a request may name, and how many words q may have: each is compared with those of
// every user.
const maxValues = 100

// sent are the parameters of a request, in the order in which they were sent.
type sent []sentParameter

type sentParameter struct{ name, value string }

func (s sent) has(name string) bool {
	return slices.ContainsFunc(s, func(sent sentParameter) bool { return sent.name == name })
}

// and returns the parameters of something that takes one more.
func (p parameters[Request]) and(of string, more parameter[Request]) parameters[Request] {
	return parameters[Request]{of, append(slices.Clip(p.all), more)}
}

func (p parameters[Request]) parse(query string) (asked Request, all sent, err error) {
	if query == "" {
		return asked, nil, nil
	}
	values := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue // as behind the last &
		}
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		at := slices.IndexFunc(p.all, func(known parameter[Request]) bool { return known.name == name })
		if at < 0 {
			return asked, nil, NewError("parameter_unknown", `Unknown parameter "%s": %s takes %s`, Shorten(name), p.of,
				join(p.names(), "and"))
		}
		meaning := p.all[at].meaning
		switch {
		case p.all[at].isValue:
			if values++; values > maxValues {
				return asked, nil, NewError("parameter_invalid",
					"The parameter %s must be one of at most %d values of users in a request", name, maxValues)
			}
		case all.has(name):
			return asked, nil, NewError("parameter_invalid", "The parameter %s must be given once, as %s", name, meaning)
		}
		if value, err = url.QueryUnescape(value); err != nil {
			meaning += ", with each % of it written as %25"
		}
		if err != nil || !utf8.ValidString(value) || !p.all[at].set(&asked, value) {
			return asked, nil, NewError("parameter_invalid", "The parameter %s must be %s", name, meaning)
		}
		all = append(all, sentParameter{name, value})
	}
	return asked, all, nil
}

func (p parameters[Request]) names() (names []string) {
	for _, known := range p.all {
		names = append(names, known.name)
	}
	return names
}

// choice returns a parameter that has one of a few values. set takes the place of its value among them.
func choice[Request any](name string, set func(asked *Request, at int), values ...string) parameter[Request] {
	return parameter[Request]{name: name, meaning: join(values, "or"), set: func(asked *Request, value string) bool {
		at := slices.Index(values, value)
		set(asked, at)
		return at >= 0
	}}
}

// number returns a parameter that is a whole number within a range.
func number[Request any](name string, least, most int64, set func(asked *Request, value int)) parameter[Request] {
	meaning := fmt.Sprintf("a whole number from %d to %d", least, most)
	return parameter[Request]{name: name, meaning: meaning, set: func(asked *Request, value string) bool {
		number, ok := ParseID(value)
		set(asked, int(number))
		return ok && least <= number && number <= most
	}}
}

// listParameter is a parameter of a list, or of an export, and listRequest what all of them ask for.
type listParameter = parameter[listRequest]

type listRequest struct {
	models.Query
	equal       map[string]models.Or // a user has one of the values of each field
	sortedAs    string               // the field that sorts, and its type: another one gives another order
	after       string               // the place after which a page begins, as next has written it
	spreadsheet bool
	sent        sent
}

// allow lets users have one more value in a field.
func (r *listRequest) allow(field string, equal models.Condition) {
	if r.equal == nil {
		r.equal = map[string]models.Or{}
	}
	r.equal[field] = append(r.equal[field], equal)
}

// parseList reads the parameters of a list, and checks those that depend on one another: what after may be depends on the
// sort.
func parseList(parameters parameters[listRequest], query string) (asked listRequest, err error) {
	asked, all, err := parameters.parse(query)
	if err != nil {
		return asked, err
	}
	asked.sent = all
	for _, field := range slices.Sorted(maps.Keys(asked.equal)) { // in one order, so that a statement is prepared once
		anyOf := asked.equal[field]
		if len(anyOf) == 1 { // an index finds the user with one email only if it stands by itself
			asked.Where = append(asked.Where, anyOf[0])
		} else {
			asked.Where = append(asked.Where, anyOf)
		}
	}
	if asked.sent.has("sort") && asked.Limit == 0 {
		return asked, NewError("parameter_invalid", "The parameter sort must come with limit: users are sorted page by page")
	}
	if asked.after == "" {
		return asked, nil
	}
	var place models.Place
	text, meaning := asked.after, "the id of a user"
	fits := true
	if asked.Sort != "" {
		meaning = "what the Link of a page with sort=" + asked.Sort + " says"
		decoded, err := base64.RawURLEncoding.DecodeString(text)
		text, fits = strings.CutPrefix(string(decoded), asked.sortedAs+" ")
		text, place.Key, _ = strings.Cut(text, " ")
		fits = fits && err == nil
	}
	id, isID := ParseID(text)
	if !fits || !isID {
		return asked, NewError("parameter_invalid", "The parameter after must be %s", meaning)
	}
	place.ID = id
	asked.After = &place
	return asked, nil
}

// next returns the reference of the page after a place: all parameters of the request, with another after. It is only a
// query, so that it works behind any prefix that a proxy puts before the path.
func (r *listRequest) next(place models.Place) string {
	after := strconv.FormatInt(place.ID, 10)
	if r.Sort != "" {
		after = base64.RawURLEncoding.EncodeToString([]byte(r.sortedAs + " " + after + " " + place.Key))
	}
	reference := []byte("?")
	for _, sent := range r.sent {
		if sent.name != "after" {
			reference = append(reference, sent.name+"="+url.QueryEscape(sent.value)+"&"...)
		}
	}
	return string(append(reference, "after="+after...))
}

// maxContains is the maximum length of q, in characters: the time of a search grows with it and with the names.
const maxContains = 1000

// listParameters returns the parameters of GET /api/users.
func listParameters(fields models.Fields) parameters[listRequest] {
	all := valueParameters(fields)
	meaning := fmt.Sprintf("words that are parts of any field, in UTF-8, of at most %d characters, and at most %d of them",
		maxContains, maxValues)
	all = append(all, listParameter{name: "q", meaning: meaning, set: func(asked *listRequest, value string) bool {
		asked.Where = append(asked.Where, models.Search(value))
		words := len(strings.Fields(value))
		return words > 0 && words <= maxValues && utf8.RuneCountInString(value) <= maxContains
	}})
	for _, column := range fields.Times() {
		done := strings.TrimSuffix(column, "at") // created_ or updated_
		all = append(all, bound(fields, done+"from", column, models.AtLeast), bound(fields, done+"to", column, models.Less))
	}
	for _, field := range fields {
		if field.Type.HasRange() {
			all = append(all, rangeOf(field, "_from", models.AtLeast), rangeOf(field, "_to", models.Less))
		}
	}
	columns := fields.Columns()
	all = append(all, choice("sort", func(asked *listRequest, at int) {
		if asked.Sort = ""; at > 0 { // users come by id without it, too
			asked.Sort, asked.sortedAs = columns[at], columns[at]
			if field := fields.Find(asked.Sort); field != nil && field.Type != nil {
				asked.sortedAs += fmt.Sprintf(":%x", crc32.ChecksumIEEE([]byte(field.Type.String()))) // choices may be long
			}
		}
	}, columns...))
	return parameters[listRequest]{"a list", append(all, pageParameters...)}
}

// pageParameters say which of the users that match are listed.
var pageParameters = []listParameter{
	number("limit", 1, 1000, func(asked *listRequest, value int) { asked.Limit = value }),
	{
		name: "after", meaning: "the id of a user, or with sort what the Link of a page says",
		set: func(asked *listRequest, value string) bool {
			asked.after = value
			return value != ""
		},
	},
	choice("order", func(asked *listRequest, at int) { asked.Descending = at == 1 }, "asc", "desc"),
	choice("count", func(asked *listRequest, at int) { asked.Count = true }, "true"),
}

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
			if field.Type != nil {
				meaning = strings.TrimSuffix(field.Type.Meaning, "null") + "empty"
			}
			all = append(all, listParameter{name: name, meaning: meaning, isValue: true, set: func(asked *listRequest, value string) bool {
				stored, isOfType := field.Type.Read(value)
				condition, ok := fields.Compare(field.Name, operator, stored)
				if operator == models.Equal {
					asked.allow(field.Name, condition)
				} else {
					asked.Where = append(asked.Where, condition)
				}
				return ok && (isOfType || value == "")
			}})
		}
	}
	return all
}

// rangeOf returns a parameter that compares a value of a field as its type orders it.
func rangeOf(field *models.Field, end string, operator models.Operator) listParameter {
	meaning := strings.TrimSuffix(field.Type.Meaning, " or null")
	return listParameter{name: field.Name + end, meaning: meaning, set: func(asked *listRequest, value string) bool {
		stored, ok := field.Type.Read(value)
		if ok {
			place := []byte(field.Type.Order(stored))
			asked.Where = append(asked.Where, models.Comparison{Column: field.Name, Operator: operator, Value: place})
		}
		return ok
	}}
}

// bound returns a parameter that compares a time of users.
func bound(fields models.Fields, name, column string, operator models.Operator) listParameter {
	const meaning = "a day or a time in UTC, such as 2026-01-31 or 2026-01-31 12:00:00"
	return listParameter{name: name, meaning: meaning, set: func(asked *listRequest, value string) bool {
		condition, ok := fields.Compare(column, operator, value)
		asked.Where = append(asked.Where, condition)
		return ok
	}}
}

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// CheckAdded returns an error if a setting cannot add these fields. Names of parameters are taken, of any endpoint: a field
// may filter there one day.
func CheckAdded(declared []string) error {
	if len(declared) > models.MaxAdded {
		return fmt.Errorf("it names %d fields, and at most %d can be added", len(declared), models.MaxAdded)
	}
	own, most := models.NewFields(), models.NewFields(models.UpdatedAt)
	names := models.NewFields(declared...)[len(own):].Names()
	taken := slices.Concat(listParameters(most).names(), csvImport.names(), changesParameters.names(), deletedParameters.names())
	for i, name := range names {
		_, of, err := models.ParseField(declared[i])
		isTaken := func(name string) bool { return slices.Contains(taken, name) || slices.Contains(names, name) }
		switch {
		case !fieldName.MatchString(name):
			return fmt.Errorf("%q cannot be the name of a field: it has 1 to 40 of the characters a-z, 0-9 and _, and begins "+
				"with a letter", name)
		case slices.Contains(own.Columns(), name):
			return fmt.Errorf("every user has the field %s already", name)
		case name == "filter", slices.Contains(taken, name):
			return fmt.Errorf("%s is a parameter of the API, so a field cannot have that name", name)
		case name == "deleted_at", name == "deleted_by":
			return fmt.Errorf("every deleted user has the field %s already", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("it names %s twice", name)
		case err != nil:
			return err
		case of != nil && slices.Contains([]string{models.UpdatedAt, "external_id", "user_name"}, name),
			of != nil && name == "active" && of.Name != "boolean":
			return fmt.Errorf("%s cannot have the type %s: the service or identity providers need it otherwise", name, of.Name)
		case of.HasRange() && (isTaken(name+"_from") || isTaken(name+"_to")):
			return fmt.Errorf("lists of a %s take %s_from and %[2]s_to, which are something else already", of.Name, name)
		}
	}
	return nil
}
