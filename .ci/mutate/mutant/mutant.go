// Package mutant is copied beside the changed program: each changed place asks it whether it is the one that is on.
// What MUTANT says is the number of that place, or the path of a file to which the numbers of those that are reached
// are added. Tests start the built program with an environment of its own: a file MUTANT in a folder around the
// program says it there.
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
	told            = tell()
	on, isNotNumber = strconv.Atoi(told)
	record          = open()
	reached         sync.Map
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
	return "0" // no place has this number
}

func open() *os.File {
	if isNotNumber == nil {
		return nil
	}
	file, err := os.OpenFile(told, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		panic(err)
	}
	return file
}

// On says whether a place is changed.
func On(n int) bool {
	if record != nil {
		if _, known := reached.LoadOrStore(n, true); !known {
			_, _ = fmt.Fprintln(record, n) // at once: the program may be killed
		}
	}
	return n == on
}

type numeric interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Each of these is what its name says, and the neighbour of that in the place that is changed.

func Zero(n int) int                          { return pick(n, 1, 0) }
func Plus[T numeric](n int, a, b T) T         { return pick(n, a-b, a+b) }
func Minus[T numeric](n int, a, b T) T        { return pick(n, a+b, a-b) }
func Less[T cmp.Ordered](n int, a, b T) bool  { return pick(n, a <= b, a < b) }
func More[T cmp.Ordered](n int, a, b T) bool  { return pick(n, a >= b, a > b) }
func Most[T cmp.Ordered](n int, a, b T) bool  { return pick(n, a < b, a <= b) }
func Least[T cmp.Ordered](n int, a, b T) bool { return pick(n, a > b, a >= b) }
func And(n int, a bool, b func() bool) bool   { return On(n) && (a || b()) || !On(n) && a && b() }
func Or(n int, a bool, b func() bool) bool    { return On(n) && a && b() || !On(n) && (a || b()) }

func pick[T any](n int, changed, otherwise T) T {
	if On(n) {
		return changed
	}
	return otherwise
}
