package main

import (
	_ "embed"
	"math"
	"slices"
)

//go:embed chart.svg.tmpl
var chartTemplate string

// chart is what chart.svg.tmpl draws: a group of bars for each work, on one logarithmic scale from a tenth to 100,000
// answers a second.
type chart struct {
	results
	Height, y int // y is how far down the template has drawn
}

// draw draws twice: what it draws first tells how high it is.
func (c *chart) draw() (string, error) {
	if _, err := fillIn(chartTemplate, c); err != nil {
		return "", err
	}
	c.Height, c.y = c.y, 0
	return fillIn(chartTemplate, c)
}

// Pick returns the work of some keys that was measured.
func (c *chart) Pick(keys ...string) []workload {
	return slices.DeleteFunc(c.Work(rate), func(w workload) bool { return !slices.Contains(keys, w.key) })
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
