package commands

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"users-api/config"
	"users-api/models"
)

func fieldsOf(t *testing.T, setting string) (names []string, err error) {
	t.Helper()
	t.Setenv("USER_FIELDS", setting)
	settings, err := config.Read()
	if err != nil {
		t.Fatal(err)
	}
	database, err := findDatabase(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return database.Fields.OptionalNames()[len(models.NewFields().OptionalNames()):], nil
}

// numbered returns the names f1 to fN, separated by commas.
func numbered(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("f", i+1)
	}
	return strings.Join(names, ",")
}

func TestTheFieldsThatASettingAdds(t *testing.T) {
	for name, test := range map[string]struct{ setting, want string }{
		"without the setting there are none":        {"", ""},
		"they keep the order of the setting":        {"room,department,city", "room department city"},
		"the spaces around a comma do not count":    {" room ,\tcity\n", "room city"},
		"a name may be a word of SQL":               {"group,select,table,null,user,users", "group select table null user users"},
		"a name may have 40 characters":             {strings.Repeat("a", 40), strings.Repeat("a", 40)},
		"a name may have digits and underscores":    {"a_1,b__2_", "a_1 b__2_"},
		"a name may be part of that of a parameter": {"orders,lim,e", "orders lim e"},
		"there may be 32":                           {numbered(32), strings.ReplaceAll(numbered(32), ",", " ")},
	} {
		t.Run(name, func(t *testing.T) {
			if names, err := fieldsOf(t, test.setting); strings.Join(names, " ") != test.want || err != nil {
				t.Errorf("the fields are %q, %v", names, err)
			}
		})
	}
}

func TestAMistakeInTheFieldsIsNamedWithTheSetting(t *testing.T) {
	const shape = "%q cannot be the name of a field: it has 1 to 40 of the characters a-z, 0-9 and _, and begins with a letter"
	const taken = "%s is a parameter of the API, so a field cannot have that name"
	for name, test := range map[string]struct{ setting, says string }{
		"33 are too many":                          {numbered(33), "it names 33 fields, and at most 32 can be added"},
		"a name is there twice":                    {"room,city,room", "it names room twice"},
		"a name with 41 characters is too long":    {strings.Repeat("a", 41), fmt.Sprintf(shape, strings.Repeat("a", 41))},
		"a name has no capital letters":            {"room,City", fmt.Sprintf(shape, "City")},
		"a name does not begin with a digit":       {"2nd", fmt.Sprintf(shape, "2nd")},
		"a name does not begin with an underscore": {"_id", fmt.Sprintf(shape, "_id")},
		"a name has no space within":               {"home room", fmt.Sprintf(shape, "home room")},
		"a name has no letters beyond ASCII":       {"straße", fmt.Sprintf(shape, "straße")},
		"a name has no quotes":                     {`a"b`, fmt.Sprintf(shape, `a"b`)},
		"an empty name between two commas":         {"room,,city", fmt.Sprintf(shape, "")},
		"an empty name at the end":                 {"room,", fmt.Sprintf(shape, "")},
		"a comma alone":                            {",", fmt.Sprintf(shape, "")},
		"every user has an email":                  {"email", "every user has the field email already"},
		"every user has an id":                     {"room,id", "every user has the field id already"},
		"every user has a time":                    {"created_at", "every user has the field created_at already"},
		"order is a parameter":                     {"order", fmt.Sprintf(taken, "order")},
		"q is a parameter":                         {"q", fmt.Sprintf(taken, "q")},
		"max_deletes is a parameter of imports":    {"max_deletes", fmt.Sprintf(taken, "max_deletes")},
		"wait is a parameter of the feed":          {"wait", fmt.Sprintf(taken, "wait")},
		"filter is a parameter of SCIM":            {"filter", fmt.Sprintf(taken, "filter")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fieldsOf(t, test.setting)
			want := fmt.Sprintf("USER_FIELDS is %q: %s", test.setting, test.says)
			if err == nil || err.Error() != want {
				t.Errorf("the error is\n%v, want\n%s", err, want)
			}
		})
	}
}
