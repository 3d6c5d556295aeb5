package models

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
)

// some returns n users in pages of 2 whose names have so many bytes, and then an error where there is one.
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

func TestAnArrayHoldsEveryUserInPiecesOfABoundedSize(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var text []byte
		for piece, err := range Array(some(n, 1000, nil)) {
			if err != nil || len(piece) > 2*1100 {
				t.Fatalf("a piece has %d bytes, %v", len(piece), err)
			}
			text = append(text, piece...)
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

func TestAnArrayThatFailsEndsWithTheError(t *testing.T) {
	failed := errors.New("failed")
	var last error
	for piece, err := range Array(some(10, 1, failed)) {
		if last = err; err == nil && strings.HasSuffix(string(piece), "]") {
			t.Errorf("a piece that came before the error looks whole: %s", piece)
		}
	}
	if !errors.Is(last, failed) {
		t.Errorf("it ended with %v", last)
	}
}

func TestAnArrayNobodyReadsOnIsNotMade(t *testing.T) {
	made := 0
	users := func(yield func([]User, error) bool) {
		for page := range some(10_000, 1000, nil) {
			if made += len(page); !yield(page, nil) {
				return
			}
		}
	}
	for range Array(users) {
		break
	}
	if made > 2 {
		t.Errorf("%d users were read for one piece", made)
	}
}

func TestAChangeDescribesAUserThatIsAsItWants(t *testing.T) {
	user := User{NewUser: NewUser{Name: "n", Email: "e"}}
	text := func(text string) *string { return &text }
	for _, test := range []struct {
		change Change
		want   bool
	}{
		{Change{}, true}, {Change{Name: text("n")}, true}, {Change{Name: text("x")}, false}, {Change{Email: text("e")}, true},
		{Change{Email: text("x")}, false}, {Change{Name: text("n"), Email: text("x")}, false}, {Change{Name: text("x"), Email: text("e")}, false},
	} {
		if got := test.change.Describes(user); got != test.want {
			t.Errorf("%+v: %t", test.change, got)
		}
	}
}

// A user that is decoded keeps its id and its time.
func TestAUserMayBeDecodedAsItWasWritten(t *testing.T) {
	want := User{ID: 7, NewUser: NewUser{Name: "n", Email: "e"}, CreatedAt: "2024-01-02 03:04:05"}
	var got User
	if err := json.Unmarshal(AppendUser(nil, &want), &got); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}
