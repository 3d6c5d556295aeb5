package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestADateIsADayThatExists(t *testing.T) {
	for _, year := range []int{0, 1, 4, 100, 400, 1000, 1900, 2000, 2023, 2024, 2100, 9999} {
		for month := range 14 {
			for day := range 33 {
				text := fmt.Sprintf("%04d-%02d-%02d", year, month, day)
				if _, err := time.Parse(time.DateOnly, text); TypeNamed("date").Fits(text) != (err == nil && year > 0) {
					t.Errorf("%s is taken for a day, or not: %v", text, err)
				}
			}
		}
	}
}

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
