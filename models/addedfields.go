package models

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MostAdded is how many fields a setting may add.
const MostAdded = 32

var fieldName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// CheckAdded returns an error if names cannot be those of fields that a setting adds. The names of parameters are taken.
func CheckAdded(names, parameters []string) error {
	if len(names) > MostAdded {
		return fmt.Errorf("it names %d fields, and at most %d can be added", len(names), MostAdded)
	}
	own := NewFields().Columns()
	for i, name := range names {
		switch {
		case !fieldName.MatchString(name):
			return fmt.Errorf("%q cannot be the name of a field: it has 1 to 40 of the characters a-z, 0-9 and _, and begins "+
				"with a letter", name)
		case slices.Contains(own, name):
			return fmt.Errorf("every user has the field %s already", name)
		case slices.Contains(parameters, name):
			return fmt.Errorf("%s is a parameter of the API, so a field cannot have that name", name)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("it names %s twice", name)
		}
	}
	return nil
}

// MissingColumns says which columns of added fields the table users lacks, and what to do.
func MissingColumns(names []string) string {
	columns, commands := "column ", []string{}
	if len(names) > 1 {
		columns = "columns "
	}
	for _, name := range names {
		commands = append(commands, "`users-api add-field "+name+"`")
	}
	return "the table users has no " + columns + strings.Join(names, ", ") + ": run " + strings.Join(commands, ", ") +
		", or take what is missing out of USER_FIELDS"
}

// SameEmails are users whose emails differ only in the case of ASCII letters, so that no index can ignore the case.
type SameEmails struct {
	IDs  []int64 // the first [MostListed]; those with the same email follow each other
	More bool    // there are others
}

func (e *SameEmails) Error() string {
	ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(e.IDs), " ", ", "), "[]")
	if e.More {
		ids += " and others"
	}
	return "nothing was changed, because some emails differ only in the case of their letters: change or delete all but " +
		"one of each, and try again; the users have the ids " + ids
}
