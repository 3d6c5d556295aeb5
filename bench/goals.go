package main

import (
	"fmt"
	"strings"
)

// goal is a figure to reach: so many times what a peer does, or a bound.
type goal struct {
	work, what string // the key of the work, and in words
	against    string // the name of a server, bestPeer, or the key of other work of our own
	factor     float64
	p99        bool    // compare the p99, and not the rate
	bound      float64 // at most; instead of a comparison
}

// bestPeer stands for whichever peer does best at a work. The bare servers are limits, and no peers.
const bestPeer = "the best peer"

// goals are the figures to reach.
var goals = []goal{
	{work: "creations-64", what: "creations, 64 clients", against: tutorial, factor: 15},
	{work: "creations-64", what: "creations, 64 clients", against: expressBetter, factor: 6},
	{work: "creations-64", what: "creations, 64 clients", against: pocketBase, factor: 6},
	{work: "creations-64", what: "creations, 64 clients: p99 (times shorter)", against: tutorial, factor: 10, p99: true},
	{work: "creations-1", what: "creations, 1 client", against: expressBetter, factor: 1.1},
	{work: "deletions-64", what: "deletions, 64 clients", against: expressBetter, factor: 6},
	{work: "list-1000", what: "list of 1,000", against: bestPeer, factor: 25},
	{work: "list-1000", what: "list of 1,000", against: bare, factor: 0.85},
	{work: "list-100000", what: "list of 100,000", against: bestPeer, factor: 50},
	{work: "list-100000", what: "list of 100,000", against: bare, factor: 0.9},
	{work: "mix", what: "nine lists to one creation", against: bestPeer, factor: 15},
	{work: "one", what: "one by id", against: bestPeer, factor: 2},
	{work: "one", what: "one by id", against: bareGin, factor: 0.6},
	{work: "email", what: "one by email", against: bestPeer, factor: 2},
	{work: "email", what: "one by email", against: bareGin, factor: 0.6},
	{work: "page", what: "page of 100", against: bestPeer, factor: 4},
	{work: "after-commit", what: "list right after a commit (times shorter)", against: bestPeer, factor: 2},
	{work: "memory", what: "peak memory, 4 clients list 1,000,000", bound: 128},
	{work: "creations-large", what: "creations at 1,000,000 users, random emails", against: "creations-64", factor: 0.8},
	{work: "creations-large-ascending", what: "the same, ascending emails", against: "creations-ascending", factor: 0.8},
	{work: "start", what: "start to first answer", bound: 30},
	{work: "idle", what: "idle memory", bound: 25},
	{work: "binary", what: "stripped binary", bound: 22},
}

// verdict is how a goal was met.
type verdict struct {
	what, wanted, measured string
	reached                bool
}

// judge compares the figures with a goal. It is not known when one of them was not measured.
func (g goal) judge(r report) (verdict, bool) {
	work := r.find(g.work)
	if work == nil || len(work.values(ours, g.p99)) == 0 {
		return verdict{}, false
	}
	own := work.values(ours, g.p99)
	if g.against == "" {
		s := spreadOf(own)
		return verdict{g.what, "at most " + number(g.bound) + work.Unit, s.text(work.Unit), s.median <= g.bound}, true
	}
	theirs, name := g.opponent(r, work)
	if len(theirs) == 0 {
		return verdict{}, false
	}
	times := ratio(own, theirs)
	if g.p99 || work.LowerIsBetter {
		times = ratio(theirs, own)
	}
	return verdict{g.what, fmt.Sprintf("%g × %s", g.factor, name), times.text(" ×"), times.median >= g.factor}, true
}

// opponent returns what our figures are compared with, and its name.
func (g goal) opponent(r report, work *outcome) ([]float64, string) {
	if other := r.find(g.against); other != nil {
		return other.values(ours, g.p99), "on an empty table"
	}
	if g.against != bestPeer {
		return work.values(g.against, g.p99), g.against
	}
	name := work.best(func(server string) bool { return server != ours && server != bare && server != bareGin })
	return work.values(name, g.p99), strings.TrimSpace(bestPeer + ", " + name)
}
