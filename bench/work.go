package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// workload is one line of the table: what is done to each server, and what is measured.
type workload struct {
	key, title   string // %d in the title stands for the number of users
	unit         string
	users        int    // in the database before
	path         string // what is read, one of the server's paths,
	place        any    // and the id or email in it that is read first,
	first, count int    // and the users in that answer
	limit        string // the name of the limit that takes part
	oursOnly     bool
	check        check
	measure      measurement
}

// The units of figures. Of all but the rate, less is better.
const (
	rate = "answers/s"
	p50  = "p50-ms"
	p99  = "p99-ms"
)

const deletable = 50_000 // users a server can delete in a second, at the most

// sizes are how many users the databases have, and how long things take.
type sizes struct {
	small, mixed, medium, large, deleted int
	seconds                              int
	requests                             int // of a mix of lists and writes
	after                                int // lists right after a write
	quick                                bool
}

func sizesFor(o options) sizes {
	if o.quick {
		return sizes{1000, 1000, 20_000, deletable, deletable, 1, 300, 10, true}
	}
	return sizes{1000, 10_000, 100_000, 1_000_000, deletable * (o.seconds + 1), o.seconds, 3000, 100, false}
}

// all returns all work, in the order of the table.
func (s sizes) all() []workload {
	return slices.Concat(s.writes(), s.reads(), s.mixes(), s.footprint())
}

func (s sizes) load(script string, clients int, variables ...string) load {
	return load{script, clients, s.seconds, variables, s.quick}
}

func (s sizes) writes() []workload {
	create := func(clients int) measurement { return under(s.load("creations.lua", clients)) }
	ascending := under(s.load("creations.lua", 64, "EMAILS=ascending"))
	remove := under(s.load("deletions.lua", 64), fmt.Sprintf("FIRST_ID=%d", s.deleted-deletable+1)) // the last to warm up
	return []workload{
		{key: "creations-1", title: "creations, 1 client", unit: rate, measure: create(1)},
		{key: "creations-64", title: "creations, 64 clients", unit: rate, limit: bareGin, measure: create(64)},
		{key: "creations-256", title: "creations, 256 clients", unit: rate, measure: create(256)},
		{key: "creations-large", title: "creations, 64 clients, at %d users", unit: rate, users: s.large,
			measure: create(64)},
		{key: "ascending", title: "creations, 64 clients, ascending emails", unit: rate, oursOnly: true, measure: ascending},
		{key: "ascending-large", title: "creations, 64 clients, at %d users, ascending emails", unit: rate, users: s.large,
			oursOnly: true, measure: ascending},
		{key: "deletions-64", title: "deletions, 64 clients", unit: rate, users: s.deleted, measure: remove},
	}
}

func (s sizes) reads() []workload {
	middle := s.medium / 2
	read := func(key, title string, place any, first, count int) workload {
		return workload{
			key: key, title: title + " of %d, 16 clients", unit: rate, users: s.medium, path: key, place: place, limit: bareGin,
			first: first, count: count, check: answersRight,
			measure: under(s.load("reads.lua", 16, fmt.Sprintf("LAST_NUMBER=%d", s.medium-100)), "SEED=2"),
		}
	}
	list := func(key string, users int, measure measurement) workload {
		return workload{
			key: key, title: "list of %d, 8 clients", unit: rate, users: users, path: "list", limit: bareHTTP,
			first: 1, count: users, check: answersRight, measure: measure,
		}
	}
	return []workload{
		list("list-1000", s.small, under(s.load("lists.lua", 8))), list("list-100000", s.medium, longLists(8, s.seconds)),
		read("one", "one by id", middle, middle, 1), read("email", "one by email", seedEmail(middle), middle, 1),
		read("page", "page of 100", middle, middle+1, 100),
	}
}

func (s sizes) mixes() []workload {
	mix := func(users int, writes string) measurement {
		l := s.load("mix.lua", 64, fmt.Sprintf("REQUESTS=%d", s.requests), "WRITES="+writes)
		l.seconds *= 3 // at the most: slow servers need them
		return under(l, "REQUESTS=200", fmt.Sprintf("FIRST_ID=%d", users/2))
	}
	return []workload{
		{key: "mix", title: "nine lists to one creation, %d users, 64 clients", unit: rate, users: s.small,
			measure: mix(s.small, "creations")},
		{key: "mix-writes", title: "nine lists to one creation, change or deletion, %d users, 64 clients", unit: rate,
			users: s.mixed, check: changes, measure: mix(s.mixed, "all")},
		{key: "after-commit", title: "list of %d right after a creation", unit: "ms", users: s.small,
			measure: listsAfter((*subject).create, s.after)},
		{key: "kept", title: "list of %d that was kept", unit: "ms", users: s.medium, oursOnly: true,
			measure: listsAfter((*subject).leave, s.after)},
		{key: "after-change", title: "list of %d right after a change", unit: "ms", users: s.medium, oursOnly: true,
			measure: listsAfter((*subject).change, s.after)},
		{key: "after-deletion", title: "list of %d right after a deletion", unit: "ms", users: s.medium, oursOnly: true,
			measure: listsAfter((*subject).remove, s.after)},
	}
}

func (s sizes) footprint() []workload {
	return []workload{
		{key: "memory", title: "peak memory, 4 clients list %d", unit: "MiB", users: s.large,
			measure: memory("VmHWM", fourLists)},
		{key: "start", title: "start to first answer", unit: "ms", measure: startTime},
		{key: "idle", title: "idle memory", unit: "MiB", measure: memory("VmRSS", pause)},
		{key: "binary", title: "stripped binary", unit: "MB", measure: binarySize},
	}
}

// Title is what the table says.
func (w workload) Title() string { return strings.ReplaceAll(w.title, "%d", number(float64(w.users))) }

// at returns where a server answers what is read first.
func (w workload) at(s *server) string {
	if w.place == nil {
		return s.paths[w.path]
	}
	return fmt.Sprintf(s.paths[w.path], w.place)
}

// answer returns our answer to what is read first, which is what a limit sends.
func (w workload) answer() []byte {
	var users [][]byte
	for number := w.first; number < w.first+w.count; number++ {
		users = append(users, fmt.Appendf(nil, `{"id":%d,"name":"User %d","email":"%s","created_at":"2024-01-01 00:00:00"}`,
			number, number, seedEmail(number)))
	}
	if w.path == "one" {
		return users[0]
	}
	return slices.Concat([]byte("["), bytes.Join(users, []byte(",")), []byte("]"))
}

// takesPart reports whether a server does this work.
func (w workload) takesPart(s *server) bool {
	if s.IsLimit() {
		return s.Name == w.limit
	}
	return (s.Name == ours || !w.oursOnly) && !slices.Contains(s.leftOut, w.key)
}
