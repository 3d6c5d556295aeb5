package models

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// texts are names as people, scripts and other programs may have stored them.
var texts = []string{
	"", "Ada Lovelace", "Émilie du Châtelet", "山田 太郎", "😀", `"quoted"`, `back\slash`, "tab\tand\nnewline", "\x00\x01\x1f\x7f",
	"<b>&amp;</b>", `<"&">`, "line\u2028paragraph\u2029", "\xff broken \xc3", "\xed\xa0\x80", strings.Repeat("long ", 1000),
}

// encode is what encoding/json makes of a value, not HTML-escaped.
func encode(t testing.TB, value any) string {
	t.Helper()
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

// Times are any text that another program has stored.
func FuzzAppendText(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		user := User{ID: -7, NewUser: NewUser{Name: text, Email: text}, CreatedAt: text}
		want := encode(t, struct {
			ID        int64  `json:"id"`
			Name      string `json:"name"`
			Email     string `json:"email"`
			CreatedAt string `json:"created_at"`
		}{user.ID, user.Name, user.Email, user.CreatedAt})
		if got := string(NewFields()[:2].AppendUser([]byte("before"), &user)); got != "before"+want {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	})
}
