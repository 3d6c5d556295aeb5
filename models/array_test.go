package models

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
)

// some returns n users in pages of 2 whose names have that many bytes, and then an error where there is one.
func some(n, bytes int, err error) iter.Seq2[[]User, error] {
	return func(yield func([]User, error) bool) {
		var page []User
		for i := range n {
			page = append(page, User{ID: int64(i + 1), NewUser: NewUser{Name: strings.Repeat("n", bytes), Email: "e"}})
			if i%2 == 0 && i < n-1 {
				continue
			}
			if !yield(page, nil) {
				return
			}
			page = nil
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// chunks returns the chunks of an array of these pages.
func chunks(pages iter.Seq2[[]User, error]) iter.Seq2[[]byte, error] {
	return NewFields().NewArray(0).Chunks(pages)
}

func TestAnArrayHoldsEveryUserInChunksOfABoundedSize(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var text []byte
		for chunk, err := range chunks(some(n, 1000, nil)) {
			if err != nil || len(chunk) > ChunkBytes+2*1100 {
				t.Fatalf("a chunk has %d bytes, %v", len(chunk), err)
			}
			text = append(text, chunk...)
		}
		var users []User
		if err := json.Unmarshal(text, &users); err != nil || len(users) != n {
			t.Errorf("%d users are %d in the array, %v: %.100s", n, len(users), err, text)
		}
		for i, user := range users {
			if user.ID != int64(i+1) {
				t.Errorf("number %d has the id %d", i, user.ID)
			}
		}
	}
}

// One user is the whole array, however long the name is, and so are a few short ones.
func TestAShortArrayAndOneUserAreASingleChunk(t *testing.T) {
	for _, test := range []struct{ users, bytes, want int }{
		{0, 0, 1}, {1, 1, 1}, {10, 1000, 1}, {1, ChunkBytes, 1}, {2, ChunkBytes, 2}, {4, ChunkBytes, 3},
	} {
		array, got := NewFields().NewArray(0), 0
		for range array.Chunks(some(test.users, test.bytes, nil)) {
			got++
			if array.Ended != (got == test.want) {
				t.Errorf("%+v: Ended is %t in chunk %d", test, array.Ended, got)
			}
		}
		if got != test.want || array.Users != test.users {
			t.Errorf("%+v: %d users in %d chunks", test, array.Users, got)
		}
	}
}

func TestAnArrayThatFailsEndsWithTheError(t *testing.T) {
	failed := errors.New("failed")
	var last error
	for piece, err := range chunks(some(10, 1, failed)) {
		if last = err; err == nil && strings.HasSuffix(string(piece), "]") {
			t.Errorf("a piece that came before the error looks whole: %s", piece)
		}
	}
	if !errors.Is(last, failed) {
		t.Errorf("it ended with %v", last)
	}
}

func TestAnArrayThatIsNotReadOnIsNotMade(t *testing.T) {
	made := 0
	users := func(yield func([]User, error) bool) {
		for page := range some(10_000, ChunkBytes, nil) {
			if made += len(page); !yield(page, nil) {
				return
			}
		}
	}
	for range chunks(users) {
		break
	}
	if made > 2 {
		t.Errorf("%d users were read for one piece", made)
	}
}
