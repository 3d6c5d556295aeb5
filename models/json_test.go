package models

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Times are any text that another program has stored.
func FuzzAppendText(f *testing.F) {
	for _, text := range []string{ // as people, scripts and other programs may have stored them
		"", "Ada Lovelace", "Émilie du Châtelet", "山田 太郎", "😀", `"quoted"`, `back\slash`, "tab\tand\nnewline",
		"\x00\x01\x1f\x7f", "<b>&amp;</b>", `<"&">`, "line\u2028paragraph\u2029", "\xff broken \xc3", "\xed\xa0\x80",
		strings.Repeat("long ", 1000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		user := User{ID: -7, Profile: Profile{Name: text, Email: text}, CreatedAt: text}
		want := bytes.NewBufferString("before")
		encoder := json.NewEncoder(want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(struct {
			ID        int64  `json:"id"`
			Name      string `json:"name"`
			Email     string `json:"email"`
			CreatedAt string `json:"created_at"`
		}{user.ID, user.Name, user.Email, user.CreatedAt}); err != nil {
			t.Fatal(err)
		}
		if got := NewFields()[:2].AppendUser([]byte("before"), &user); string(got)+"\n" != want.String() {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	})
}
