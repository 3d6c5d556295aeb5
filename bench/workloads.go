package main

import (
	"fmt"
	"slices"
)

// workload is one line of the table: what is done to each server, and what is measured.
type workload struct {
	key, title    string
	unit          string
	lowerIsBetter bool
	users         int    // in the database before
	limit         string // the name of the limit that takes part
	oursOnly      bool
	measure       measurement
}

// sizes are how many users the databases have, and how long things take.
type sizes struct {
	small, medium, large int
	seconds              int
	mixed                int // requests of the mix of lists and creations
	after                int // lists right after a commit
	starts               int
}

func fullSizes(seconds int) sizes {
	return sizes{small: 1000, medium: 100_000, large: 1_000_000, seconds: seconds, mixed: 3000, after: 100, starts: 11}
}

func quickSizes() sizes {
	return sizes{small: 1000, medium: 5000, large: 20_000, seconds: 1, mixed: 300, after: 10, starts: 3}
}

const perSecond = "/s"

// workloads returns all work, in the order of the table.
func workloads(s sizes) []workload {
	return slices.Concat(creations(s), lists(s), reads(s), creationsAtSize(s), footprint(s))
}

func creations(s sizes) []workload {
	work := []workload{}
	for _, clients := range []int{1, 64, 256} {
		work = append(work, workload{
			key: fmt.Sprintf("creations-%d", clients), title: fmt.Sprintf("creations, %s", plural(clients, "client")), unit: perSecond,
			measure: underWrk(load{"creations.lua", clients, s.seconds, []string{"EMAILS=random"}}),
		})
	}
	return append(work, workload{
		key: "deletions-64", title: "deletions, 64 clients", unit: perSecond,
		users:   deletable * (s.seconds + 1), // and a second to warm up
		measure: deletions(load{"deletions.lua", 64, s.seconds, nil}),
	})
}

func lists(s sizes) []workload {
	return []workload{
		{
			key: "list-1000", title: fmt.Sprintf("list of %s, 8 clients", thousands(s.small)), unit: perSecond,
			users: s.small, limit: bare, measure: underWrk(load{"lists.lua", 8, s.seconds, nil}),
		},
		{
			key: "list-100000", title: fmt.Sprintf("list of %s, 8 clients", thousands(s.medium)), unit: perSecond,
			users: s.medium, limit: bare, measure: longLists(8, s.seconds),
		},
		{
			key: "mix", title: fmt.Sprintf("nine lists to one creation, 64 clients, %s users", thousands(s.small)), unit: perSecond,
			users: s.small, measure: mixed(load{"mix.lua", 64, s.seconds, nil}, s.mixed),
		},
		{
			key: "after-commit", title: fmt.Sprintf("list of %s right after a commit", thousands(s.small)), unit: " ms",
			lowerIsBetter: true, users: s.small, measure: afterCommit(s.after),
		},
		{
			key: "memory", title: fmt.Sprintf("peak memory, 4 clients list %s", thousands(s.large)), unit: " MiB",
			lowerIsBetter: true, users: s.large, measure: peakMemory(4),
		},
	}
}

// reads are single users and pages, at random places, for 16 clients.
func reads(s sizes) []workload {
	at := " of " + thousands(s.medium) + ", 16 clients"
	read := func(path func(api) string, by string, count int) measurement {
		return randomReads(load{"reads.lua", 16, s.seconds, nil}, path, by, count)
	}
	return []workload{
		{
			key: "one", title: "one by id" + at, unit: perSecond, users: s.medium, limit: bareGin,
			measure: read(func(a api) string { return a.one }, "id", 1),
		},
		{
			key: "email", title: "one by email" + at, unit: perSecond, users: s.medium, limit: bareGin,
			measure: read(func(a api) string { return a.email }, "email", 1),
		},
		{
			key: "page", title: "page of 100" + at, unit: perSecond, users: s.medium, limit: bareGin,
			measure: read(func(a api) string { return a.page }, "id", 100),
		},
	}
}

// creationsAtSize are the creations, 64 clients, that show whether a large table slows them down. The same with random
// emails on an empty table is among the creations.
func creationsAtSize(s sizes) []workload {
	random := load{"creations.lua", 64, s.seconds, []string{"EMAILS=random"}}
	ascending := load{"creations.lua", 64, s.seconds, []string{"EMAILS=ascending"}}
	large := thousands(s.large)
	return []workload{
		{
			key: "creations-large", title: "creations, 64 clients, at " + large + " users, random emails", unit: perSecond,
			users: s.large, measure: underWrk(random),
		},
		{
			key: "creations-ascending", title: "creations, 64 clients, empty table, ascending emails", unit: perSecond,
			oursOnly: true, measure: underWrk(ascending),
		},
		{
			key: "creations-large-ascending", title: "creations, 64 clients, at " + large + " users, ascending emails", unit: perSecond,
			oursOnly: true, users: s.large, measure: underWrk(ascending),
		},
	}
}

func footprint(s sizes) []workload {
	return []workload{
		{key: "start", title: "start to first answer", unit: " ms", lowerIsBetter: true, limit: bare, measure: startTimes(s.starts)},
		{key: "idle", title: "idle memory", unit: " MiB", lowerIsBetter: true, limit: bare, measure: idleMemory},
		{key: "binary", title: "stripped binary", unit: " MB", lowerIsBetter: true, limit: bare, measure: binarySize},
	}
}

// takesPart reports whether a server does this work, and why not where that needs a word.
func (w workload) takesPart(s *server) (bool, string) {
	if w.oursOnly && s.name != ours || s.isLimit() && s.name != w.limit {
		return false, ""
	}
	reason, spared := s.leftOut[w.key]
	return !spared, reason
}
