package program

import (
	"regexp"
	"slices"
	"strings"
)

// ownFields names the optional fields that the model has beyond the specification. Tests send none of them, so that each is
// NULL, and compare what is left of an answer without them. CONTRIBUTING.md, "Adding a field", adds a name here.
var ownFields = []string{}

// WithoutOwn returns JSON, NDJSON or CSV without the fields in ownFields, which are all NULL.
func WithoutOwn(text string) string {
	for _, name := range ownFields {
		text = strings.ReplaceAll(text, `,"`+name+`":null`, "")
	}
	start := max(0, strings.Index(text, "id,name,email,created_at,")) // of a CSV file
	header, _, isFile := strings.Cut(text[start:], "\r\n")            // and not the document of the API, which names a header
	names := strings.Split(header, ",")
	if len(ownFields) == 0 || !isFile || !slices.Contains(names, ownFields[0]) {
		return text
	}
	kept, at, quoted := []byte(text[:start]), 0, false
	for _, c := range []byte(text[start:]) {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			at++
		case c == '\r':
			at = 0
		}
		if at == 0 || at >= len(names) || !slices.Contains(ownFields, names[at]) {
			kept = append(kept, c)
		}
	}
	return string(kept)
}

// OwnCells are the cells of ownFields in a row of a CSV file, all of them empty.
func OwnCells() string { return strings.Repeat(",", len(ownFields)) }

// OwnColumns are the names in ownFields, with a comma behind each.
func OwnColumns() (names string) {
	for _, name := range ownFields {
		names += name + ","
	}
	return names
}

var createsUsers = regexp.MustCompile(`(?i)^create table "?users"? `)

// withOwn returns a statement and, if it creates the table of users, those that add a column for each of ownFields.
func withOwn(statement string) []string {
	statements := []string{statement}
	if createsUsers.MatchString(statement) {
		for _, name := range ownFields {
			statements = append(statements, "ALTER TABLE users ADD COLUMN "+name+" TEXT")
		}
	}
	return statements
}
