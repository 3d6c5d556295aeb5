package models

import (
	"iter"
	"slices"
	"strings"
	"testing"
)

// some returns n users in pages of 2 whose names have that many bytes.
func some(n, bytes int) iter.Seq2[[]User, error] {
	user := User{NewUser: NewUser{Name: strings.Repeat("n", bytes)}}
	return func(yield func([]User, error) bool) {
		for page := range slices.Chunk(slices.Repeat([]User{user}, n), 2) {
			if !yield(page, nil) {
				return
			}
		}
	}
}

// One user is the whole array, however long the name is, and so are a few short ones. Longer ones take bounded memory.
func TestAnArrayHasAsFewChunksAsABoundedSizeAllows(t *testing.T) {
	for _, test := range []struct{ users, bytes, want int }{
		{0, 0, 1}, {1, 1, 1}, {10, 1000, 1}, {1, ChunkBytes, 1}, {2, ChunkBytes, 2}, {4, ChunkBytes, 3},
		{100, ChunkBytes / 10, 11},
	} {
		array, got := NewFields().NewArray(0), 0
		for chunk, err := range array.Chunks(some(test.users, test.bytes)) {
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
