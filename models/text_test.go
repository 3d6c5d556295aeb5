package models

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestOnlyASCIILettersHaveACase(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ada": "ada", "ADA@Example.org": "ada@example.org", "ÄÖ ẞ I İ ı": "ÄÖ ẞ i İ ı", "[@Z`{": "[@z`{", "A\x00B\xff": "a\x00b\xff",
	} {
		if got := LowerASCII(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestAStoredTimeIsShownInUTC(t *testing.T) {
	for stored, shown := range map[string]string{
		"2024-01-02 03:04:05": "2024-01-02 03:04:05", "2024-01-02T03:04:05+02:00": "2024-01-02 01:04:05",
		"2024-01-02T03:04:05": "2024-01-02 03:04:05", "2024-01-02 03:04:05.123456789-05:30": "2024-01-02 08:34:05",
		"2024-01-02T03:04Z": "2024-01-02 03:04:00", "2024-01-02 03:04:05.12 +0200 CEST": "2024-01-02 03:04:05.12 +0200 CEST",
		"2024-01-02 03:04": "2024-01-02 03:04:00", "2024-01-02T03:04:05+0530": "2024-01-01 21:34:05",
		"2024-01-02": "2024-01-02 00:00:00", "2024-01-02 03:04:05 +0200": "2024-01-02 03:04:05 +0200",
		"2024-01-02 03:04+02": "2024-01-02 01:04:00", "2024-01-02T03:04:05+02": "2024-01-02 01:04:05",
		"2024-01-02T03:04-0530": "2024-01-02 08:34:00", "2024-01-02T03:04:05+2": "2024-01-02T03:04:05+2",
		"2024-13-41T00:00:00Z": "2024-13-41T00:00:00Z", "": "",
	} {
		if got := ShownTime(stored); got != shown {
			t.Errorf("%q is shown as %q, want %q", stored, got, shown)
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
