package storetest

import (
	"bytes"
	"cmp"
	encoding "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"users-api/models"
)

func (m *Machine) sorted() []models.User {
	return slices.SortedFunc(maps.Values(m.model), func(a, b models.User) int { return cmp.Compare(a.ID, b.ID) })
}

// compare compares the list and the users one by one with the model.
func (m *Machine) compare(r *rapid.T) {
	want := m.list()
	err := m.Users.List(ctx, func(list models.List) error {
		got, err := join(list)
		if err == nil && (got != want || list.Version != "" && list.Length != len(got)) {
			r.Fatalf("the list is\n%.2000s\nwant\n%.2000s", got, want)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
}

// list is the list that the model makes.
func (m *Machine) list() string { return m.json(m.sorted()) }

// json is what encoding/json makes of users.
func (m *Machine) json(all []models.User) string {
	var users []string
	for _, user := range all {
		shown := fmt.Sprintf(`{"id":%d,"name":%s,"email":%s,"created_at":%s`, user.ID, encoded(user.Name), encoded(user.Email),
			encoded(user.CreatedAt))
		for _, field := range m.fields[len(Fields()):] {
			shown += fmt.Sprintf(`,%s:%s`, encoded(field.Name), encoded(field.Value(&user.NewUser)))
		}
		users = append(users, shown+"}")
	}
	return "[" + strings.Join(users, ",") + "]"
}

func encoded(text any) string {
	var json bytes.Buffer
	encoder := encoding.NewEncoder(&json)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // it is a text, or null
	}
	return strings.TrimSuffix(json.String(), "\n")
}
