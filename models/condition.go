package models

import (
	"slices"
	"strconv"
	"time"
)

// Condition says of a user whether it matches: a [Comparison], or others joined by [And], [Or] and [Not]. A user meets
// either a condition or its Not, whatever is NULL. A query in which one is nil, because it was forgotten, fails.
type Condition interface{ isCondition() }

type (
	And []Condition         // is met by the users who meet all of them: without any, by every user
	Or  []Condition         // is met by the users who meet one of them: without any, by nobody
	Not struct{ Condition } // is met by the users who do not meet it
)

// Comparison is a condition for one value of a user. [Fields.Compare] and [Search] make it.
type Comparison struct {
	Column   string // of a field, "id" or "created_at"; "" for any field that a client may set
	Operator Operator
	Value    any // a string, an int64 for ids as numbers, the folded words of a search, or the bytes of a [Type.Order]
}

func (And) isCondition()        {}
func (Or) isCondition()         {}
func (Comparison) isCondition() {}

// Operator says how the value of a user compares with another, in the words of SCIM (RFC 7644, section 3.4.2.2).
type Operator string

const (
	Equal      Operator = "eq"
	NotEqual   Operator = "ne"
	Contains   Operator = "co"
	StartsWith Operator = "sw"
	EndsWith   Operator = "ew"
	Greater    Operator = "gt"
	AtLeast    Operator = "ge"
	Less       Operator = "lt"
	AtMost     Operator = "le"
	HasValue   Operator = "pr"       // whatever the other is
	IsFalse    Operator = "is false" // one of [FalseWords] in any letter case, whatever the other is
	IsUnfit    Operator = "is unfit" // a text that does not fit the type of the field, whatever the other is
)

// Search returns the condition that every word of a text is in some field of a user, folded. Without a word, nobody meets
// it. An index of searches finds those who do.
func Search(text string) Condition {
	if words := FoldedWords(text); len(words) > 0 {
		return Comparison{"", Contains, words}
	}
	return Or{}
}

// Compare returns the condition that the value in a column compares with a text. It is not ok if there is no such column,
// or the text is no value of it: ids are ordered as numbers, and times compared as they are shown.
//
// NULL and an empty text are both no value, which has no order, but equals, contains and starts and ends with an empty
// text. Texts are compared byte by byte, and emails without the case of ASCII letters where the table ignores that.
func (f Fields) Compare(column string, operator Operator, text string) (condition Condition, ok bool) {
	isPart := operator == Contains || operator == StartsWith || operator == EndsWith
	comparison := Comparison{column, operator, text}
	switch ok = slices.Contains(f.Columns(), column); {
	case operator == NotEqual:
		equal, ok := f.Compare(column, Equal, text)
		return Not{equal}, ok
	case operator == HasValue, operator == IsFalse:
	case f.IsTime(column):
		moment, err := parseTime(text)
		comparison.Value, ok = moment.Format(time.DateTime), err == nil && !isPart
	case isPart && text == "":
		return And{}, ok
	case column == "id" && !isPart:
		id, err := strconv.ParseInt(text, 10, 64)
		if operator == Equal && strconv.FormatInt(id, 10) != text {
			return Or{}, true // another way to write an id is nobody's
		}
		comparison.Value, ok = id, err == nil
	}
	return comparison, ok
}
