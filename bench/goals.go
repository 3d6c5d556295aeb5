package main

import (
	"cmp"
	_ "embed"
	"fmt"
)

// goal is a figure to reach, as goals.yaml has it.
type goal struct {
	Work, Server, Against, Unit string
	Least, Most                 float64
}

const bestPeer, ownMedian = "the best peer", "its own median"

//go:embed goals.yaml
var goalsFile []byte

func goals() (all []goal) { return parsed(goalsFile, all) }

// verdict is a goal as a line of the table shows it.
type verdict struct{ What, Wanted, Measured, Verdict string }

// judge compares the samples with a goal. Without a sample it has no verdict.
func (g goal) judge(r results) verdict {
	w, own := r.find(g.Work), cmp.Or(g.Server, ours)
	unit := cmp.Or(g.Unit, w.Unit)
	what, wanted := w.Title, fmt.Sprintf("at most %g%s", g.Most, display(unit))
	if g.Unit != "" {
		what += ": " + g.Unit
	}
	if own != ours {
		what += ", " + own
	}
	measured := r.samples[point{g.Work, own, unit}]
	if g.Against != "" {
		theirs, name := g.opponent(r, own, unit)
		if wanted = fmt.Sprintf("at most %g × %s", g.Most, name); g.Least > 0 {
			wanted = fmt.Sprintf("%g × %s", g.Least, name)
		}
		measured, unit = times(measured, theirs, g.Most > 0 || unit == rate), "×"
	}
	if len(measured) == 0 {
		return verdict{}
	}
	reached := func(value float64) bool { return g.Least > 0 && value >= g.Least || g.Most > 0 && value <= g.Most }
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
func (g goal) opponent(r results, own, unit string) ([]float64, string) {
	if other := r.find(g.Against); other.Key != "" {
		return r.samples[point{g.Against, own, unit}], other.Title
	}
	switch name := r.bestPeer(g.Work, unit); g.Against {
	case ownMedian:
		return r.samples[point{g.Work, own, p50}], ownMedian
	case bestPeer:
		return r.samples[point{g.Work, name, unit}], bestPeer + ", " + name
	}
	return r.samples[point{g.Work, g.Against, unit}], g.Against
}

// bestPeer returns the name of the peer with a file that does best at a work, or "".
func (r results) bestPeer(work, unit string) (best string) {
	for _, s := range servers() {
		candidate, leader := r.samples[point{work, s.Name, unit}], r.samples[point{work, best, unit}]
		if s.IsOurs() || s.Limit || s.Engine != "SQLite" || len(candidate) == 0 {
			continue
		}
		if best == "" || (summarize(candidate).Center > summarize(leader).Center) == (unit == rate) {
			best = s.Name
		}
	}
	return best
}
