package main

import (
	"cmp"
	"fmt"
)

// goal is a figure to reach: at least so many times as good as another, at most so many times as much, or at most so
// much where there is nothing to compare with.
type goal struct {
	work, against string // the key of work; and the name of a server, or the key of other work of our own
	least, most   float64
	unit          string // what is compared; "" for the work's own figure
}

const bestPeer, ownMedian = "the best peer", "its own median"

// goals are the figures to reach.
var goals = []goal{
	{work: "creations-1", against: expressBetter, least: 1.3},
	{work: "creations-64", against: tutorial, least: 15}, {work: "creations-64", against: tutorial, least: 10, unit: p99},
	{work: "creations-64", against: expressBetter, least: 6}, {work: "creations-64", against: pocketBase, least: 6},
	{work: "creations-64", against: bareGin, least: 0.5},
	{work: "creations-large", against: "creations-64", least: 0.8},
	{work: "creations-large", against: ownMedian, most: 4, unit: p99},
	{work: "ascending-large", against: "ascending", least: 0.8},
	{work: "deletions-64", against: expressBetter, least: 6},
	{work: "list-1000", against: bestPeer, least: 25}, {work: "list-1000", against: bareHTTP, least: 0.85},
	{work: "list-100000", against: bestPeer, least: 50}, {work: "list-100000", against: bareHTTP, least: 0.9},
	{work: "one", against: bestPeer, least: 2}, {work: "one", against: bareGin, least: 0.6},
	{work: "email", against: bestPeer, least: 2}, {work: "email", against: bareGin, least: 0.6},
	{work: "page", against: bestPeer, least: 4},
	{work: "mix", against: bestPeer, least: 15}, {work: "mix-writes", against: bestPeer, least: 20},
	{work: "after-commit", against: bestPeer, least: 2},
	{work: "after-change", against: "kept", most: 1.2}, {work: "after-deletion", against: "kept", most: 1.2},
	{work: "memory", most: 128}, {work: "start", most: 30}, {work: "idle", most: 25}, {work: "binary", most: 31},
}

// verdict is a goal as a line of the table shows it.
type verdict struct{ What, Wanted, Measured, Verdict string }

// judge compares the samples with a goal. Without a sample it has no verdict.
func (g goal) judge(r results) verdict {
	w := r.find(g.work)
	what, wanted, unit := w.Title(), fmt.Sprintf("at most %g%s", g.most, display(w.unit)), cmp.Or(g.unit, w.unit)
	if g.unit != "" {
		what += ": p99"
	}
	measured := r.samples[point{g.work, ours, unit}]
	if g.against != "" {
		theirs, name := g.opponent(r, unit)
		if wanted = fmt.Sprintf("at most %g × %s", g.most, name); g.least > 0 {
			wanted = fmt.Sprintf("%g × %s", g.least, name)
		}
		measured, unit = times(measured, theirs, g.most > 0 || unit == rate), "×"
	}
	if len(measured) == 0 {
		return verdict{}
	}
	reached := func(value float64) bool { return g.least > 0 && value >= g.least || g.most > 0 && value <= g.most }
	s, answer := summarize(measured), "**not reached**"
	if reached(s.Center) {
		answer = "reached"
	}
	if reached(s.Lo) != reached(s.Hi) {
		answer += ", not certain" // the rounds leave a doubt
	}
	return verdict{what, wanted, text(measured, unit), answer}
}

// opponent returns what our figures are compared with, and its name.
func (g goal) opponent(r results, unit string) ([]float64, string) {
	if other := r.find(g.against); other.key != "" {
		return r.samples[point{g.against, ours, unit}], other.Title()
	}
	switch name := r.bestPeer(g.work, unit); g.against {
	case ownMedian:
		return r.samples[point{g.work, ours, p50}], ownMedian
	case bestPeer:
		return r.samples[point{g.work, name, unit}], bestPeer + ", " + name
	}
	return r.samples[point{g.work, g.against, unit}], g.against
}

// bestPeer returns the name of the peer that does best at a work, or "".
func (r results) bestPeer(work, unit string) (best string) {
	for _, s := range servers() {
		candidate, leader := r.samples[point{work, s.Name, unit}], r.samples[point{work, best, unit}]
		if s.Name == ours || s.IsLimit() || len(candidate) == 0 {
			continue
		}
		if best == "" || (summarize(candidate).Center > summarize(leader).Center) == (unit == rate) {
			best = s.Name
		}
	}
	return best
}
