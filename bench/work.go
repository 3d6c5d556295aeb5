package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// workload is one line of the table, as works.yaml has it: what is done to each server, and what is measured.
type workload struct {
	Key, Title, Unit      string
	Measure, Script, Path string
	Users, Clients        int
	Times, Slow           int
	Variables             []string
	Parts                 []workload
	Growth                bool
}

// The units of figures that the code knows. Of all but the rate, less is better.
const (
	rate = "answers/s"
	p50  = "p50-ms"
	p99  = "p99-ms"
	peak = "peak-MiB"

	arrivalP50 = "arrival-p50-ms"
	arrivalP99 = "arrival-p99-ms"
)

//go:embed works.yaml
var worksFile []byte

// works returns all work of a run.
func works(o options) (all []workload) {
	for _, w := range parsed(worksFile, all) {
		if w.Growth != o.curve || o.quick && w.Growth && w.Users > 100_000 {
			continue
		}
		if w.Unit = cmp.Or(w.Unit, rate); o.quick && !w.Growth {
			w.Users = min(w.Users, 20_000)
		}
		w.Title = strings.ReplaceAll(w.Title, "%d", number(float64(w.Users)))
		all = append(all, w)
	}
	return all
}

// rare is in the email of user 1, and nowhere else.
var rare = seedEmail(1)[:8]

// reads returns what is read first: the place, as an id or a text, and the numbers of the users in the right answer, in order.
// A random read is first made in the middle of the table.
func (w workload) reads() (place any, users []int) {
	middle := w.Users / 2
	switch w.Path {
	case "one":
		return middle, span(middle, middle)
	case "email":
		return seedEmail(middle), span(middle, middle)
	case "page":
		return middle, span(middle+1, min(middle+100, w.Users))
	case "newest":
		users = span(max(1, w.Users-49), w.Users)
		slices.Reverse(users)
		return nil, users
	case "search":
		return rare, span(1, 1)
	case "sorted":
		return nil, byName(1, w.Users)
	case "sorted-next": // the place is written as the service writes it
		key := fmt.Sprintf("name %d user %d", middle, middle)
		return base64.RawURLEncoding.EncodeToString([]byte(key)), byName(nextByName(middle, w.Users), w.Users)
	}
	return nil, span(1, w.Users)
}

// byName returns the numbers of 100 users in the order of their names, from one on: 1, 10, 100, 101.
func byName(number, most int) (numbers []int) {
	for range 100 {
		numbers = append(numbers, number)
		number = nextByName(number, most)
	}
	return numbers
}

func nextByName(number, most int) int {
	if 10*number <= most {
		return 10 * number
	}
	for number%10 == 9 || number == most {
		number /= 10
	}
	return number + 1
}

func span(first, last int) (numbers []int) {
	for number := first; number <= last; number++ {
		numbers = append(numbers, number)
	}
	return numbers
}

// answer returns our answer to what is read first, which is what a limit sends.
func (w workload) answer() []byte {
	_, numbers := w.reads()
	var users [][]byte
	for _, number := range numbers {
		users = append(users, fmt.Appendf(nil, `{"id":%d,"name":"User %d","email":"%s","created_at":"2024-01-01 00:00:00"}`,
			number, number, seedEmail(number)))
	}
	if w.Path == "one" {
		return users[0]
	}
	return slices.Concat([]byte("["), bytes.Join(users, []byte(",")), []byte("]"))
}
