package models

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestValuesThatAUserHasAlreadyDoNotDiffer(t *testing.T) {
	fields := NewFields("room")
	user := NewUser{Name: "n", Email: "e"}
	values := func(pairs ...string) (values Values) {
		for _, pair := range pairs {
			name, text, _ := strings.Cut(pair, "=")
			values.Set(fields.Find(name), text)
		}
		return values
	}
	for _, test := range []struct {
		change Values
		want   []string
	}{
		{Values{}, nil},
		{values("name=n"), nil},
		{values("name=x"), []string{"name"}},
		{values("name=n", "email=x"), []string{"email"}},
		{values("name=x", "email=y"), []string{"name", "email"}},
	} {
		var got []string
		for field := range fields.In(fields.Differing(&test.change, &user)) {
			got = append(got, field.Name)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("of %+v these differ: %v, want %v", test.change, got, test.want)
		}
	}
}

func TestAnOptionalFieldFollowsTheTimeAndMayBeNull(t *testing.T) {
	fields := NewFields("room")
	user := User{ID: 7, NewUser: NewUser{Name: "n", Email: "e"}, CreatedAt: "t"}
	own := regexp.MustCompile(`(,"\w+":null)+(,"room")`) // CONTRIBUTING.md shows how every user gets another field
	shown := func(json []byte) string { return own.ReplaceAllString(string(json), "$2") }
	show := func() string { return shown(fields.AppendUser(nil, &user)) + fmt.Sprint(fields.Bytes(&user.NewUser)) }
	if got := show(); got != `{"id":7,"name":"n","email":"e","created_at":"t","room":null}2` {
		t.Error(got)
	}
	fields.Find("room").Set(&user.NewUser, "")
	if got := show(); got != `{"id":7,"name":"n","email":"e","created_at":"t","room":""}2` {
		t.Error(got)
	}
	fields.Find("room").Set(&user.NewUser, "123")
	if got := shown(fields.AppendCreated(nil, 7, &user.NewUser)); got != `{"id":7,"name":"n","email":"e","room":"123"}` {
		t.Error(got)
	}
	fields.Find("room").SetNull(&user.NewUser)
	if columns := fmt.Sprint(fields.Columns()); fields.Find("room").Value(&user.NewUser) != nil ||
		!strings.HasPrefix(columns, "[id name email created_at ") || !strings.HasSuffix(columns, " room]") {
		t.Error(columns)
	}
}
