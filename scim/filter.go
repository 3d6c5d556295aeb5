package scim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scim2/filter-parser/v2"

	"users-api/models"
)

// What a filter may have outside its texts. The parser takes up to 40 µs and 5 KB for a byte, and 16 s for 32,000
// brackets.
const maxFilter, maxBrackets, maxComparisons = 8 << 10, 50, 50

var (
	filterText       = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*"`)
	filterComparison = regexp.MustCompile(`(?i) (?:eq|ne|co|sw|ew|gt|ge|lt|le|pr)\b`)
	filterPart       = regexp.MustCompile(`(?i)(\bemails *\[[^\]]*\])\.`)
	filterNoNull     = regexp.MustCompile(`((?:\[[^\[\]]*\]|[^\s()\[\]])+) +(?i:ne) +null\b`)
	filterNull       = regexp.MustCompile(`((?:\[[^\[\]]*\]|[^\s()\[\]])+) +(?i:eq) +null\b`)
)

// parsedFilter is a filter with the numbers of its texts instead of them: the parser does not decode texts.
type parsedFilter struct {
	filter.Expression // nil: it is no filter
	texts             []string
}

// parseFilter parses a filter (RFC 7644, section 3.4.2.2). It may have a part of the emails that another filter selects,
// as paths do, and Entra ID.
func parseFilter(text string) (parsed parsedFilter) {
	isText := utf8.ValidString(text)
	text = filterText.ReplaceAllStringFunc(strings.Trim(text, " "), func(quoted string) string {
		var decoded string
		isText = json.Unmarshal([]byte(quoted), &decoded) == nil && isText
		parsed.texts = append(parsed.texts, decoded)
		return `"` + strconv.Itoa(len(parsed.texts)-1) + `"`
	})
	brackets, comparisons := strings.Count(text, "(")+strings.Count(text, "["), filterComparison.FindAllString(text, -1)
	if isText && len(text) <= maxFilter && brackets <= maxBrackets && len(comparisons) <= maxComparisons {
		text = filterNull.ReplaceAllString(filterNoNull.ReplaceAllString(text, "$1 pr"), "not ($1 pr)")
		text = filterPart.ReplaceAllString(text, "$1 and emails.")
		parsed.Expression, _ = filter.ParseFilterNumber([]byte(text))
	}
	return parsed
}

// text returns the value of a comparison as a text, and whether it is one.
func (p parsedFilter) text(e *filter.AttributeExpression) (text string, isText bool) {
	number, isText := e.CompareValue.(string)
	if at, err := strconv.Atoi(number); err == nil {
		return p.texts[at], isText
	}
	return fmt.Sprint(e.CompareValue), e.Operator == filter.PR
}

// condition returns the condition that a part of a filter is, whose attributes are within another.
func (s *API) condition(p parsedFilter, part filter.Expression, within string) (models.Condition, error) {
	switch e := part.(type) {
	case *filter.AttributeExpression:
		if condition, ok := s.comparison(p, e, within+e.AttributePath.String()); ok {
			return condition, nil
		}
	case *filter.NotExpression:
		negated, err := s.condition(p, e.Expression, within)
		return models.Not{Condition: negated}, err
	case *filter.LogicalExpression:
		left, err := s.condition(p, e.Left, within)
		right, failed := s.condition(p, e.Right, within)
		if e.Operator == filter.OR {
			return models.Or{left, right}, cmp.Or(err, failed)
		}
		return models.And{left, right}, cmp.Or(err, failed)
	case *filter.ValuePath:
		if findAttribute(e.AttributePath.String()) == "emails" {
			selected, err := s.condition(p, e.ValueFilter, "emails.")
			return models.And{s.hasEmail(), selected}, err
		}
	}
	return nil, errFilter
}

// constants are what all emails, or all users, have in common.
var constants = map[string]string{"emails.type": "work", "emails.primary": "true", "meta.resourcetype": "User"}

func (s *API) comparison(p parsedFilter, e *filter.AttributeExpression, path string) (c models.Condition, ok bool) {
	text, isText := p.text(e)
	isTrue, isTruth := truth([]byte(text))
	isEquality := e.Operator == filter.EQ || e.Operator == filter.NE
	attribute, constant := findAttribute(path), constants[strings.ToLower(strings.TrimPrefix(path, coreSchema+":"))]
	column := map[string]string{"id": "id"}[attribute]
	for _, moment := range s.fields.Times() {
		if attribute == "meta."+timeAttributes[moment] {
			column = moment
		}
	}
	switch {
	case e.Operator == filter.PR && attribute == "active":
		return models.And{}, true // every user has it
	case attribute == "active": // unless the field is false
		if c, _ = s.fields.Compare("active", models.IsFalse, ""); isTrue == (e.Operator == filter.EQ) {
			c = models.Not{Condition: c}
		}
		return c, isTruth && isEquality
	case constant != "":
		c = models.Or{}
		if holds(e, constant, text) {
			c = models.And{}
		}
		if constant != "User" {
			c = s.ofEmail(e.Operator, text, c)
		}
		isBoolean := isTruth && constant == "true"
		return c, e.Operator == filter.PR || isEquality && (isBoolean || isText && constant != "true")
	case attribute == "emails" || attribute == "emails.value":
		c, ok = s.fields.Compare("email", models.Operator(e.Operator), text)
		return s.ofEmail(e.Operator, text, c), ok && isText
	case attribute == "userName":
		return s.userName(models.Operator(e.Operator), text), isText
	case s.held[attribute] != nil:
		column = s.held[attribute].Name
	}
	c, ok = s.fields.Compare(column, models.Operator(e.Operator), text)
	return c, ok && isText
}

// hasEmail is met by the users who are shown with an email, and not with emails: [].
func (s *API) hasEmail() models.Condition {
	condition, _ := s.fields.Compare("email", models.Contains, "@")
	return condition
}

// ofEmail is met by those of them who meet a condition for the email, and by the others if an empty text meets it.
func (s *API) ofEmail(operator filter.CompareOperator, text string, condition models.Condition) models.Condition {
	switch {
	case operator == filter.EQ && strings.Contains(text, "@"):
		return condition // an index finds it
	case operator == filter.NE && text != "",
		text == "" && slices.Contains([]filter.CompareOperator{filter.EQ, filter.CO, filter.SW, filter.EW}, operator):
		return models.Or{models.Not{Condition: s.hasEmail()}, condition}
	}
	return models.And{s.hasEmail(), condition}
}

// userName compares the userName: the field user_name of those who have a value there, and the email of the others.
func (s *API) userName(operator models.Operator, text string) models.Condition {
	byEmail, _ := s.fields.Compare("email", operator, text)
	own := s.held["userName"].Name
	if own == "email" {
		return byEmail
	}
	hasOwn, _ := s.fields.Compare(own, models.HasValue, "")
	byOwn, _ := s.fields.Compare(own, operator, text)
	return models.Or{models.And{hasOwn, byOwn}, models.And{models.Not{Condition: hasOwn}, byEmail}}
}

// selects reports whether the filter of a path selects an email that has these parts.
func (p parsedFilter) selects(part filter.Expression, email map[string]string) bool {
	switch e := part.(type) {
	case *filter.AttributeExpression:
		text, _ := p.text(e)
		return holds(e, email[strings.ToLower(e.AttributePath.String())], text)
	case *filter.NotExpression:
		return !p.selects(e.Expression, email)
	case *filter.LogicalExpression:
		left, right := p.selects(e.Left, email), p.selects(e.Right, email)
		return left && right || (left || right) && e.Operator == filter.OR
	}
	return false
}

// holds compares two texts in any letter case, by the operators that paths are sent with.
func holds(e *filter.AttributeExpression, is, text string) bool {
	isEqual := strings.EqualFold(is, text)
	return e.Operator == filter.EQ && isEqual || e.Operator == filter.NE && !isEqual || e.Operator == filter.PR && is != ""
}
