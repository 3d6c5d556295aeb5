// Package mutant is copied into the changed program: each changed place asks it whether it is the one that is on. What the
// variable MUTANT says is the number of that place, or else the path of a file to which the number of each place that is reached is
// added. Tests start the built program with an environment of its own: there a file MUTANT in a folder around it says it.
package mutant

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

var (
	told           = tell()
	changed, isNot = strconv.Atoi(told)
	record         = open()
	reached        sync.Map
)

func tell() string {
	if text := os.Getenv("MUTANT"); text != "" {
		return text
	}
	path, _ := os.Executable()
	for ; len(path) > 1; path = filepath.Dir(path) {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "MUTANT")); err == nil {
			return string(text)
		}
	}
	return ""
}

func open() *os.File {
	if isNot == nil || told == "" {
		return nil
	}
	file, err := os.OpenFile(told, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		panic(err)
	}
	return file
}

// On says whether the place with this number is changed. No place has the number 0.
func On(n int) bool {
	if record != nil {
		if _, known := reached.LoadOrStore(n, true); !known {
			_, _ = fmt.Fprintln(record, n) // at once: the program may be killed
		}
	}
	return n == changed
}

// One is 1 if the place is changed, and else 0.
func One(n int) int {
	if On(n) {
		return 1
	}
	return 0
}

type numeric interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Plus is a + b, or a - b where it is changed.
func Plus[T numeric](n int, a, b T) T {
	if On(n) {
		return a - b
	}
	return a + b
}

// Minus is a - b, or a + b where it is changed.
func Minus[T numeric](n int, a, b T) T {
	if On(n) {
		return a + b
	}
	return a - b
}

// Less is a < b, or a <= b where it is changed.
func Less[T cmp.Ordered](n int, a, b T) bool { return a < b || On(n) && a == b }

// Greater is a > b, or a >= b where it is changed.
func Greater[T cmp.Ordered](n int, a, b T) bool { return Less(n, b, a) }

// AtMost is a <= b, or a < b where it is changed.
func AtMost[T cmp.Ordered](n int, a, b T) bool { return a < b || !On(n) && a == b }

// AtLeast is a >= b, or a > b where it is changed.
func AtLeast[T cmp.Ordered](n int, a, b T) bool { return AtMost(n, b, a) }

// And is a && b, or a || b where it is changed.
func And(n int, a bool, b func() bool) bool {
	if On(n) {
		return a || b()
	}
	return a && b()
}

// Or is a || b, or a && b where it is changed.
func Or(n int, a bool, b func() bool) bool {
	if On(n) {
		return a && b()
	}
	return a || b()
}
