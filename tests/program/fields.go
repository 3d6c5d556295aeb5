package program

import (
	"regexp"
	"strings"
)

// added names the optional fields of a user that the specification does not have. Tests send none of them, so that each
// is NULL, and compare what is left of an answer without them. CONTRIBUTING.md, "Adding a field", adds a name here.
var added = []string{}

// WithoutAdded returns JSON, NDJSON or CSV without the added fields, all of which are NULL.
func WithoutAdded(text string) string {
	for _, name := range added {
		text = strings.ReplaceAll(text, `,"`+name+`":null`, "")
	}
	header := "created_at," + strings.Join(added, ",") + "\r\n"
	if len(added) > 0 && strings.Contains(text, header) {
		text = strings.Replace(text, header, "created_at"+noValues()+"\r\n", 1)
		text = strings.ReplaceAll(text, noValues()+"\r\n", "\r\n")
	}
	return text
}

// noValues are the values of the added fields in a row of a CSV file.
func noValues() string { return strings.Repeat(",", len(added)) }

var createsUsers = regexp.MustCompile(`(?i)^create table "?users"? `)

// withAdded returns a statement and, if it creates the table of users, those that give it the columns of the added fields.
func withAdded(statement string) []string {
	statements := []string{statement}
	if createsUsers.MatchString(statement) {
		for _, name := range added {
			statements = append(statements, "ALTER TABLE users ADD COLUMN "+name+" TEXT")
		}
	}
	return statements
}
