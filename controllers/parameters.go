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

// parameters are what a query string may contain. Anything unknown is an error for the client: a misspelt filter must not
// list all users, and a misspelt dry_run must not store anything.
type parameters struct {
	of  string // what they belong to, with its article
	all []parameter
}

type parameter struct {
	name, meaning string                                       // the meaning describes the valid values
	isValue       bool                                         // it is a value of users, and may be given again
	read          func(value string) (meant any, isValid bool) // what a value stands for
}

// maxValues is how many values of users a request may name, and how many words q may have: each is compared with those of
// every user.
const maxValues = 100

// sent are the parameters of a request, in the order in which they were sent.
type sent []sentParameter

type sentParameter struct {
	parameter
	value string
	meant any
}

func (s sent) has(name string) bool {
	return slices.ContainsFunc(s, func(sent sentParameter) bool { return sent.name == name })
}

// meant returns what the value of a parameter stands for, or something else if it was not sent.
func meant[T any](all sent, name string, otherwise T) T {
	for _, sent := range all {
		if sent.name == name {
			return sent.meant.(T)
		}
	}
	return otherwise
}

// link returns the header that leads to the next page: all parameters of the request, with another place. It is only a
// query, so that it works behind any prefix that a proxy puts before the path.
func (s sent) link(name, place string) string {
	reference := ""
	for _, sent := range s {
		if sent.name != name {
			reference += sent.name + "=" + url.QueryEscape(sent.value) + "&"
		}
	}
	return "<?" + reference + name + "=" + url.QueryEscape(place) + `>; rel="next"`
}

// and returns the parameters of something that takes one more.
func (p parameters) and(of string, more parameter) parameters {
	return parameters{of, append(slices.Clip(p.all), more)}
}

func (p parameters) parse(query string) (all sent, err error) {
	values := 0
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue // as behind the last &
		}
		name, value, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		at := slices.IndexFunc(p.all, func(known parameter) bool { return known.name == name })
		if at < 0 {
			return nil, NewError("parameter_unknown", `Unknown parameter "%s": %s takes %s`, Shorten(name), p.of,
				join(p.names(), "and"))
		}
		sent := sentParameter{parameter: p.all[at]}
		switch {
		case sent.isValue:
			if values++; values > maxValues {
				return nil, NewError("parameter_invalid",
					"The parameter %s must be one of at most %d values of users in a request", name, maxValues)
			}
		case all.has(name):
			return nil, NewError("parameter_invalid", "The parameter %s must be given once, as %s", name, sent.meaning)
		}
		isValid := false
		if sent.value, err = url.QueryUnescape(value); err != nil {
			sent.meaning += ", with each % of it written as %25"
		} else if utf8.ValidString(sent.value) {
			sent.meant, isValid = sent.read(sent.value)
		}
		if !isValid {
			return nil, NewError("parameter_invalid", "The parameter %s must be %s", name, sent.meaning)
		}
		all = append(all, sent)
	}
	return all, nil
}

func (p parameters) names() (names []string) {
	for _, known := range p.all {
		names = append(names, known.name)
	}
	return names
}

// text returns a parameter that stands for itself.
func text(name, meaning string, isValid func(value string) bool) parameter {
	return parameter{name: name, meaning: meaning, read: func(value string) (any, bool) { return value, isValid(value) }}
}

// choice returns a parameter that has one of a few values.
func choice(name string, values ...string) parameter {
	return text(name, join(values, "or"), func(value string) bool { return slices.Contains(values, value) })
}

// number returns a parameter that is a whole number within a range.
func number(name string, least, most int64) parameter {
	meaning := fmt.Sprintf("a whole number from %d to %d", least, most)
	return parameter{name: name, meaning: meaning, read: func(value string) (any, bool) {
		number, ok := ParseID(value)
		return int(number), ok && least <= number && number <= most
	}}
}

// listRequest is what the parameters of a list, or of an export, ask for.
type listRequest struct {
	models.Query
	sortedAs string // the field that sorts, and its type: another one gives another order
	sent     sent
}

// parseList reads the parameters of a list, and checks those that depend on one another: what after may be depends on the
// sort.
func parseList(parameters parameters, query string) (asked listRequest, err error) {
	all, err := parameters.parse(query)
	if err != nil {
		return asked, err
	}
	asked.sent, asked.Limit, asked.sortedAs = all, meant(all, "limit", 0), meant(all, "sort", "")
	asked.Descending, asked.Count = meant(all, "order", "") == "desc", all.has("count")
	asked.Sort, _, _ = strings.Cut(asked.sortedAs, ":")
	equal := map[string]models.Or{} // a user has one of the values of each field
	for _, sent := range all {
		condition, isCondition := sent.meant.(models.Condition)
		switch {
		case !isCondition:
		case sent.isValue && !strings.HasSuffix(sent.name, "!"):
			equal[sent.name] = append(equal[sent.name], condition)
		default:
			asked.Where = append(asked.Where, condition)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(equal)) { // in one order, so that a statement is prepared once
		anyOf := equal[field]
		if len(anyOf) == 1 { // an index finds the user with one email only if it stands by itself
			asked.Where = append(asked.Where, anyOf[0])
		} else {
			asked.Where = append(asked.Where, anyOf)
		}
	}
	if all.has("sort") && asked.Limit == 0 {
		return asked, NewError("parameter_invalid", "The parameter sort must come with limit: users are sorted page by page")
	}
	after := meant(all, "after", "") // as next has written it
	if after == "" {
		return asked, nil
	}
	place, meaning, fits := models.Place{}, "the id of a user", true
	if asked.Sort != "" {
		meaning = "what the Link of a page with sort=" + asked.Sort + " says"
		decoded, err := base64.RawURLEncoding.DecodeString(after)
		after, fits = strings.CutPrefix(string(decoded), asked.sortedAs+" ")
		after, place.Key, _ = strings.Cut(after, " ")
		fits = fits && err == nil
	}
	id, isID := ParseID(after)
	if !fits || !isID {
		return asked, NewError("parameter_invalid", "The parameter after must be %s", meaning)
	}
	place.ID, asked.After = id, &place
	return asked, nil
}

// next returns the Link to the page after a place.
func (r *listRequest) next(place models.Place) string {
	after := strconv.FormatInt(place.ID, 10)
	if r.Sort != "" {
		after = base64.RawURLEncoding.EncodeToString([]byte(r.sortedAs + " " + after + " " + place.Key))
	}
	return r.sent.link("after", after)
}

const maxContains = 1000 // characters of q: the time of a search grows with them and with the names

func listParameters(fields models.Fields) parameters {
	all := []parameter{{name: "id", meaning: "the id of a user", isValue: true, read: func(value string) (any, bool) {
		equal, _ := fields.Compare("id", models.Equal, value)
		_, isID := ParseID(value)
		return equal, isID
	}}}
	for _, field := range fields.Settable() {
		meaning := "the whole " + field.Name + " of a user, in UTF-8"
		if field.Type != nil {
			meaning = strings.TrimSuffix(field.Type.Meaning, "null") + "empty"
		}
		for i, operator := range []models.Operator{models.Equal, models.NotEqual} {
			all = append(all, parameter{field.Name + strings.Repeat("!", i), meaning, true, func(value string) (any, bool) {
				stored, isOfType := field.Type.Read(value)
				condition, ok := fields.Compare(field.Name, operator, stored)
				return condition, ok && (isOfType || value == "")
			}})
		}
	}
	meaning := fmt.Sprintf("words that are parts of any field, in UTF-8, of at most %d characters, and at most %d of them",
		maxContains, maxValues)
	all = append(all, parameter{name: "q", meaning: meaning, read: func(value string) (any, bool) {
		words := len(strings.Fields(value))
		return models.Search(value), words > 0 && words <= maxValues && utf8.RuneCountInString(value) <= maxContains
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
	sort := parameter{name: "sort", meaning: join(columns, "or"), read: func(value string) (any, bool) {
		if field := fields.Find(value); field != nil && field.Type != nil {
			return fmt.Sprintf("%s:%x", value, crc32.ChecksumIEEE([]byte(field.Type.String()))), true // choices may be long
		}
		if value == "id" {
			return "", true // as without it
		}
		return value, slices.Contains(columns, value)
	}}
	return parameters{"a list", append(all, sort, number("limit", 1, 1000),
		text("after", "the id of a user, or with sort what the Link of a page says", isGiven),
		choice("order", "asc", "desc"), choice("count", "true"))}
}

func isGiven(value string) bool { return value != "" }

// rangeOf returns a parameter that compares a value of a field as its type orders it.
func rangeOf(field *models.Field, end string, operator models.Operator) parameter {
	meaning := strings.TrimSuffix(field.Type.Meaning, " or null")
	return parameter{name: field.Name + end, meaning: meaning, read: func(value string) (any, bool) {
		stored, ok := field.Type.Read(value)
		return models.Comparison{Column: field.Name, Operator: operator, Value: []byte(field.Type.Order(stored))}, ok
	}}
}

func bound(fields models.Fields, name, column string, operator models.Operator) parameter {
	const meaning = "a day or a time in UTC, such as 2026-01-31 or 2026-01-31 12:00:00"
	return parameter{name: name, meaning: meaning, read: func(value string) (any, bool) {
		return fields.Compare(column, operator, value)
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
