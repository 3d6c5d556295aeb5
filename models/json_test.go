package models

import (
	"bytes"
	"encoding/json"
	"slices"
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

// One user is the whole array, however long the name is, and so are a few short ones. Longer ones take bounded memory.
func TestAnArrayHasAsFewChunksAsABoundedSizeAllows(t *testing.T) {
	for _, test := range []struct{ users, bytes, want int }{
		{0, 0, 1}, {1, 1, 1}, {10, 1000, 1}, {1, ChunkBytes, 1}, {2, ChunkBytes, 2}, {4, ChunkBytes, 3},
		{100, ChunkBytes / 10, 11},
	} {
		user := User{Profile: Profile{Name: strings.Repeat("n", test.bytes)}}
		pages := func(yield func([]User, error) bool) {
			for page := range slices.Chunk(slices.Repeat([]User{user}, test.users), 2) {
				if !yield(page, nil) {
					return
				}
			}
		}
		array, got := NewFields().NewArray(0), 0
		for chunk, err := range array.Chunks(pages) {
			got++
			if array.Ended != (got == test.want) || err != nil || len(chunk) > ChunkBytes+2*(test.bytes+100) {
				t.Errorf("%+v: chunk %d of %d bytes, %v, ended: %t", test, got, len(chunk), err, array.Ended)
			}
		}
		if got != test.want || array.Users != test.users {
			t.Errorf("%+v: %d users in %d chunks", test, array.Users, got)
		}
	}
}
