package scim

import (
	"errors"
	"testing"

	"users-api/models"
)

// FuzzFilter parses any text as a filter of SCIM, and as that of a path. It is refused, or becomes a condition.
func FuzzFilter(f *testing.F) {
	for _, filter := range []string{
		`userName eq "ada"`, `externalId eq "a" or not (emails[type eq "work" and value co "\u00e9"])`,
		`emails[primary eq true].value sw "a"`, `meta.created ge "2026-01-02T03:04:05Z" and id gt "7"`,
		`active ne "False"`, coreSchema + `:title pr`, `a eq 1e9`, `((id pr))`, `"`, `\"`, ``,
	} {
		f.Add(filter)
	}
	s := NewAPI(nil, models.NewFields("external_id", "active", "user_name", "title"))
	f.Fuzz(func(t *testing.T, text string) {
		parsed := parseFilter(text)
		condition, err := s.condition(parsed, parsed.Expression, "")
		if err == nil && condition == nil {
			t.Errorf("%q has no condition", text)
		}
		if err != nil && !errors.Is(err, errFilter) {
			t.Errorf("%q is refused with %v", text, err)
		}
		resource{"emails.value": "a@x"}.find("emails[" + text + "].value")
	})
}
