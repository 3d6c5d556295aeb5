package main

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The chart: a group of bars for each work that is counted in answers a second, on one logarithmic scale.
const (
	chartWidth = 820
	labelWidth = 190 // names of servers, left of the bars
	valueWidth = 90  // figures, right of the longest bar
	barHeight  = 14
	barStep    = 19
	groupHead  = 30
	chartHead  = 52
	chartFoot  = 44
	chartNote  = 18
	sliver     = 2  // of a bar that would begin where the scale does
	scaleStart = -1 // the scale begins at a tenth, as a power of ten
	scaleEnd   = 5  // and ends at 100,000
)

// charted are the keys of the work in the chart.
var charted = []string{"creations-1", "creations-64", "deletions-64", "list-1000", "list-100000", "mix"}

// chartNotes stand below the chart.
var chartNotes = []string{
	"Every creation and deletion is on disk before it is answered (synchronous FULL), but for those of",
	"* PocketBase, which runs with NORMAL: a power cut may take its last ones.",
	"Dashed: the same bytes from memory by net/http alone, the limit.",
}

// chartStyle follows the reader's light or dark mode. Nothing is painted behind the chart.
const chartStyle = `<style>
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #57606a }
.title { font-size: 15px; font-weight: 600; fill: #1f2328 }
.group { font-weight: 600; fill: #1f2328 }
.own { font-weight: 600; fill: #0a58ca }
.bar { fill: #afb8c1 } .bar.limit { fill: none; stroke: #8c959f; stroke-dasharray: 3 2 } .bar.own { fill: #0969da }
.grid { stroke: #d8dee4 } .spread { stroke: #1f2328; stroke-opacity: .55 }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 } .title, .group { fill: #f0f6fc } .own { fill: #79b8ff }
.bar { fill: #57606a } .bar.limit { stroke: #9198a1 } .bar.own { fill: #388bfd }
.grid { stroke: #30363d } .spread { stroke: #f0f6fc }
}
</style>
`

// chart returns the figures as an SVG image.
func (r report) chart() string {
	var bars strings.Builder
	y := chartHead
	for _, key := range charted {
		if work := r.find(key); work != nil {
			y = r.drawGroup(&bars, work, y)
		}
	}
	var image strings.Builder
	fmt.Fprintf(&image, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Answers a second of users-api and its peers">`+"\n",
		chartWidth, y+chartFoot+chartNote*len(chartNotes))
	image.WriteString(chartStyle)
	drawText(&image, "title", "start", 0, 18, "Answers a second, logarithmic scale")
	drawText(&image, "", "start", 0, 36, fmt.Sprintf("Medians of %d rounds, with least and greatest. Longer is better.", r.Rounds))
	drawScale(&image, y)
	image.WriteString(bars.String())
	for i, note := range chartNotes {
		drawText(&image, "", "start", 0, y+chartFoot+i*chartNote, note)
	}
	image.WriteString("</svg>\n")
	return image.String()
}

// drawGroup draws the bars of one work from y on, and returns where the next group begins.
func (r report) drawGroup(to *strings.Builder, work *outcome, y int) int {
	drawText(to, "group", "start", 0, y+groupHead-9, work.Title)
	y += groupHead
	for _, s := range r.Servers {
		if figure := spreadOf(work.values(s.Name, false)); figure.median > 0 {
			drawBar(to, s.Name, figure, y)
			y += barStep
		}
	}
	return y
}

func drawBar(to *strings.Builder, name string, figure spread, y int) {
	class, middle := barClass(name), y+barHeight-3
	drawText(to, class, "end", labelWidth-10, middle, label(name))
	end := place(figure.median)
	fmt.Fprintf(to, `<rect class="bar %s" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`+"\n", class, labelWidth, y, max(end-labelWidth, sliver), barHeight)
	if figure.max > figure.min {
		fmt.Fprintf(to, `<line class="spread" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n",
			place(figure.min), place(figure.max), y+barHeight/2, y+barHeight/2)
	}
	drawText(to, class, "start", int(max(end, place(figure.max)))+7, middle, number(figure.median))
}

func barClass(name string) string {
	switch name {
	case ours:
		return "own"
	case bare, bareGin:
		return "limit"
	default:
		return ""
	}
}

// label returns the name of a server in the chart.
func label(name string) string {
	if name == pocketBase {
		return name + " *"
	}
	return name
}

// drawScale draws a line for each power of ten.
func drawScale(to *strings.Builder, bottom int) {
	for power := scaleStart; power <= scaleEnd; power++ {
		value := math.Pow10(power)
		x := place(value)
		fmt.Fprintf(to, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>`+"\n", x, x, chartHead, bottom+4)
		drawText(to, "", "middle", int(x), bottom+18, scaleText(value))
	}
}

func scaleText(value float64) string {
	if value < 1 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return thousands(int(value))
}

func drawText(to *strings.Builder, class, anchor string, x, y int, text string) {
	fmt.Fprintf(to, `<text class="%s" text-anchor="%s" x="%d" y="%d">%s</text>`+"\n", class, anchor, x, y, html.EscapeString(text))
}

// place returns where a figure is on the scale.
func place(value float64) float64 {
	const width = chartWidth - labelWidth - valueWidth
	share := (math.Log10(max(value, 1e-9)) - scaleStart) / (scaleEnd - scaleStart)
	return labelWidth + width*min(max(share, 0), 1)
}
