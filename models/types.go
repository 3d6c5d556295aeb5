package models

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Type is a lens over the text of an added field: it says which texts are values, how what a client sends becomes one, how
// JSON shows it, and how it is ordered. The column is a text whatever the type, and nothing converts what is stored: a text
// that does not fit, because it is older than the type or another program's, is shown as it is.
type Type struct {
	Name    string         // in USER_FIELDS, or "choice" for one that lists its choices there
	Choices []string       // the values in their order, unless a pattern says what they are
	Pattern *regexp.Regexp // which a value matches, in words that Go and PostgreSQL share
	Meaning string         // what a field may have, in a sentence behind "must be"

	read func(text string) string // returns what a client has sent as it is stored, or a text that does not fit
}

// MaxTyped is how many bytes a value of a type has at most. No number, day or choice has as many.
const MaxTyped = 2000

// invisible are the blanks and control characters of all alphabets, in the brackets of a pattern.
const invisible = "[:cntrl:][:space:]\u0080-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"

var (
	boolean = Type{Name: "boolean", Choices: []string{"false", "true"}, Meaning: "true, false or null", read: readBoolean}
	// A number has at most 15 digits, 6 of them behind the point, so that every program's floating point keeps it.
	number = Type{Name: "number", Meaning: "a number or null", read: readNumber, Pattern: regexp.MustCompile(
		`^(0|-?(0\.[0-9]{0,5}[1-9]|[1-9][0-9]{0,8}(\.[0-9]{0,5}[1-9])?|[1-9][0-9]{9}(\.[0-9]{0,4}[1-9])?|` +
			`[1-9][0-9]{10}(\.[0-9]{0,3}[1-9])?|[1-9][0-9]{11}(\.[0-9]{0,2}[1-9])?|[1-9][0-9]{12}(\.[0-9]?[1-9])?|` +
			`[1-9][0-9]{13}(\.[1-9])?|[1-9][0-9]{14}))$`)}
	// A date is a day of the years 0001 to 9999 that exists: one of every year, or February 29.
	date = Type{Name: "date", Meaning: "a date such as 2026-12-31 or null", read: readDate, Pattern: regexp.MustCompile(
		`^(([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|` +
			`(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|` +
			`([0-9][0-9](0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)$`)}
	url = Type{Name: "url", Meaning: "an address that begins with http:// or https://, or null",
		Pattern: regexp.MustCompile(`^[Hh][Tt][Tt][Pp][Ss]?://([^/?#@\\` + invisible + `]*@)?` +
			`(\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]\\` + invisible + `]+)(:[0-9]*)?([/?#][^` + invisible + `]*)?$`)}
)

var types = map[string]*Type{"boolean": &boolean, "number": &number, "date": &date, "url": &url}

// TypeNamed returns the type that has a name in every setting, or nil.
func TypeNamed(name string) *Type { return types[name] }

// ParseField returns the name of a field that a setting adds, and the type behind a colon; nil for text.
func ParseField(declared string) (name string, of *Type, err error) {
	name, kind, hasType := strings.Cut(declared, ":")
	if kind = strings.TrimSpace(kind); !hasType || kind == "text" || TypeNamed(kind) != nil {
		return name, TypeNamed(kind), nil
	}
	choices, folded := strings.Split(kind, "|"), []string(nil)
	if len(choices) < 2 || len(choices) > 100 {
		const allowed = "must be text, boolean, number, date, url, or 2 to 100 choices with | between"
		return name, nil, fmt.Errorf("the type of %s is %q: it %s", name, kind, allowed)
	}
	for i, choice := range choices {
		choice = strings.TrimSpace(choice)
		length := utf8.RuneCountInString(choice)
		if length < 1 || length > 100 || !utf8.ValidString(choice) || slices.Contains(folded, Fold(choice)) {
			return name, nil, fmt.Errorf("%s has the choice %q: each must have 1 to 100 characters, and differ from the others in "+
				"more than letter case and accents", name, choice)
		}
		choices[i], folded = choice, append(folded, Fold(choice))
	}
	last := len(choices) - 1
	meaning := strings.Join(choices[:last], ", ") + " or " + choices[last] + ", or null"
	return name, &Type{Name: "choice", Choices: choices, Meaning: meaning, read: func(text string) string {
		if at := slices.Index(folded, Fold(text)); at >= 0 {
			return choices[at]
		}
		return ""
	}}, nil
}

// String returns the type as USER_FIELDS has it.
func (t *Type) String() string {
	if t.Pattern != nil || t == &boolean {
		return t.Name
	}
	return strings.Join(t.Choices, "|")
}

// Fits reports whether a text is a value as it is stored.
func (t *Type) Fits(text string) bool {
	if t.Choices != nil {
		return slices.Contains(t.Choices, text)
	}
	return len(text) <= MaxTyped && t.Pattern.MatchString(text)
}

// Read returns a text of a client as it is stored, and whether it is a value. Without a type, every text is one.
func (t *Type) Read(text string) (stored string, ok bool) {
	if t == nil {
		return text, true
	}
	if t.read != nil && !t.Fits(text) {
		text = t.read(text)
	}
	return text, t.Fits(text)
}

// append appends a value as JSON shows it.
func (t *Type) append(to []byte, stored *string) []byte {
	switch {
	case stored == nil || *stored == "":
		return append(to, "null"...)
	case (t == &boolean || t == &number) && t.Fits(*stored):
		return append(to, *stored...)
	}
	return appendText(to, *stored)
}

// Order returns a text that stands for a value of a pattern where values are ordered, byte by byte.
func (t *Type) Order(stored string) string {
	switch t {
	case &number: // so that none is negative or has fewer digits
		whole, fraction, _ := strings.Cut(stored, ".")
		units, _ := strconv.ParseInt(whole, 10, 64)
		millionths, _ := strconv.ParseInt((fraction + "000000")[:6], 10, 64)
		if strings.HasPrefix(whole, "-") && millionths > 0 {
			units, millionths = units-1, 1_000_000-millionths
		}
		return fmt.Sprintf("%d.%06d", units+2_000_000_000_000_000, millionths)
	case &url: // like every text
		folded := []rune(Fold(stored))
		return string(folded[:min(len(folded), 200)])
	}
	return stored
}

// HasRange reports whether lists take the least value of the type, and one above the greatest.
func (t *Type) HasRange() bool { return t == &number || t == &date }

func readBoolean(text string) string {
	text = LowerASCII(text)
	isFalse := slices.Contains(FalseWords, text)
	if !isFalse && !slices.Contains(trueWords, text) {
		return ""
	}
	return strconv.FormatBool(!isFalse)
}

// midnight is what programs write behind a day.
var midnight = regexp.MustCompile(`(T00:00:00(\.000)?Z| 00:00:00)$`)

func readDate(text string) string { return midnight.ReplaceAllString(text, "") }

// lastZeros are those of a number behind its point, with the rest.
var lastZeros = regexp.MustCompile(`^(-?[0-9]+)\.0+$|(\.[0-9]*[1-9])0+$`)

func readNumber(text string) string {
	if text = lastZeros.ReplaceAllString(text, "$1$2"); text == "-0" {
		return "0"
	}
	return text
}

// Settle reads what a client has sent for fields that have a type. A text that the user has is accepted whatever it is, and
// stays; user is nil for a new one. The error is a [*Refusal].
func (f Fields) Settle(values *Values, user *Profile) error {
	values.Added = slices.Clone(values.Added) // a transaction may begin again
	for field := range f.In(values.Given) {
		if field.Type == nil {
			continue
		}
		sent, before := field.textOf(&values.Profile), ""
		if user != nil {
			before = field.textOf(user)
		}
		stored, ok := field.Type.Read(sent)
		switch {
		case !ok && sent != "" && sent != before:
			return refusal("field_invalid", field.Name+" must be "+field.Type.Meaning)
		case user != nil && sent == before:
			field.Copy(&values.Profile, user)
		case sent == "":
			field.SetNull(&values.Profile)
		default:
			field.Set(&values.Profile, stored)
		}
	}
	return nil
}
