package models

import (
	"fmt"
	"strings"
	"testing"
)

// withPhone are the fields of the model, and a phone if that is not among them.
func withPhone() Fields {
	if NewFields().Find("phone") != nil {
		return NewFields()
	}
	return NewFields("phone")
}

func TestValuesThatAUserHasAlreadyDoNotDiffer(t *testing.T) {
	fields := withPhone()
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
	fields := withPhone()
	user := User{ID: 7, NewUser: NewUser{Name: "n", Email: "e"}, CreatedAt: "t"}
	show := func() string { return string(fields.AppendUser(nil, &user)) + fmt.Sprint(fields.Bytes(&user.NewUser)) }
	if got := show(); got != `{"id":7,"name":"n","email":"e","created_at":"t","phone":null}2` {
		t.Error(got)
	}
	fields.Find("phone").Set(&user.NewUser, "")
	if got := show(); got != `{"id":7,"name":"n","email":"e","created_at":"t","phone":""}2` {
		t.Error(got)
	}
	fields.Find("phone").Set(&user.NewUser, "123")
	if got := string(fields.AppendCreated(nil, 7, &user.NewUser)); got != `{"id":7,"name":"n","email":"e","phone":"123"}` {
		t.Error(got)
	}
	fields.Find("phone").SetNull(&user.NewUser)
	if fields.Find("phone").Value(&user.NewUser) != nil || fmt.Sprint(fields.Columns()) != "[id name email created_at phone]" {
		t.Error(fields.Columns())
	}
}
