package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// chart is what the charts draw: a group of bars for each work, on one logarithmic scale from a tenth to 100,000 answers
// a second; or the curve.
type chart struct {
	results
	Height, y int // y is how far down the template has drawn
}

// draw draws twice: what it draws first tells how high it is.
func (c *chart) draw(template string) (string, error) {
	if _, err := fillIn(template, c); err != nil {
		return "", err
	}
	c.Height, c.y = c.y, 0
	return fillIn(template, c)
}

// Pick returns the work of some keys that was measured.
func (c *chart) Pick(keys ...string) []workload {
	return slices.DeleteFunc(c.Work("", rate), func(w workload) bool { return !slices.Contains(keys, w.Key) })
}

// Down goes down, and says how far that is from the top.
func (c *chart) Down(step int) int {
	c.y += step
	return c.y
}

// place returns where a figure is on the scale: a power of ten is 90 wide.
func place(value float64) float64 {
	return math.Round(900*min(math.Log10(max(value, 0.1))+1, 6)) / 10
}

// panel is a part of the curve: one figure of all servers at all numbers of users. Both scales are logarithmic.
type panel struct {
	Title, Unit string
	r           results
	low, high   float64 // the powers of ten at the ends of the scale,
	Low, High   string  // and what is written there
	Right       bool    // it stands beside the one before it
}

// Panels returns the panels of the curve.
func (r results) Panels() []panel {
	all := []panel{
		{Title: "creations/s, 64 clients", Unit: "creations/s"}, {Title: "one by id/s, 16 clients", Unit: "one/s"},
		{Title: "one by email/s, 16 clients", Unit: "email/s"}, {Title: "last page of 100/s, 16 clients", Unit: "page/s"},
		{Title: "a search, ms", Unit: "search-ms"}, {Title: "the whole list, ms", Unit: "list-ms"},
		{Title: "start, ms", Unit: "start-ms"}, {Title: "peak memory, MiB", Unit: peak},
		{Title: "on disk, MB", Unit: "disk-MB"},
	}
	for i := range all {
		p := &all[i]
		p.r, p.Right, p.low, p.high = r, i%2 == 1, math.Inf(1), math.Inf(-1)
		for at, values := range r.samples {
			if at.unit == p.Unit && at.work != "processes" {
				center := math.Log10(summarize(values).Center)
				p.low, p.high = min(p.low, math.Floor(center)), max(p.high, math.Ceil(center))
			}
		}
		p.high = max(p.high, p.low+1)
		p.Low, p.High = number(math.Pow(10, p.low)), number(math.Pow(10, p.high))
	}
	return all
}

// Path returns the line of a server, as a path of SVG: 65 wide for each power of ten, and 100 high.
func (p panel) Path(s *server) string {
	var points []string
	for _, w := range p.r.Work("", p.Unit) {
		if values := p.r.Values(w, s, p.Unit); len(values) > 0 {
			y := 100 * (p.high - math.Log10(summarize(values).Center)) / (p.high - p.low)
			points = append(points, fmt.Sprintf("%.1f %.1f", 65*(math.Log10(float64(w.Users))-3), y))
		}
	}
	return "M" + strings.Join(points, "L")
}
