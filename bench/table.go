package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// markdown returns the whole report for people.
func (r report) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# What the bench measured\n\nWritten by `go run .`; how to read it is in [README.md](../README.md). ")
	fmt.Fprintf(&text, "Medians of %d rounds with %d s for each load, and least–greatest behind them. The run took %s.\n", r.Rounds, r.Seconds, r.Took)
	if r.Quick {
		text.WriteString("\n**A quick run: small databases, and no figures to rely on.**\n")
	}
	text.WriteString("\n")
	for _, line := range r.Environment {
		fmt.Fprintf(&text, "- %s\n", line)
	}
	r.writeDurability(&text)
	r.writeFigures(&text, "Figures", false)
	r.writeFigures(&text, "Time to answer: p99 in ms", true)
	r.writeRatios(&text)
	r.writeGoals(&text)
	r.writeNotes(&text)
	return text.String()
}

func (r report) writeDurability(text *strings.Builder) {
	text.WriteString("\n## Servers, and what their answers are worth\n\n| server | durability |\n| --- | --- |\n")
	for _, s := range r.Servers {
		fmt.Fprintf(text, "| %s | %s |\n", s.Name, s.Durability)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Missing)) {
		fmt.Fprintf(text, "| %s | not measured, it could not be built: %s |\n", name, r.Missing[name])
	}
}

// writeHead writes the head of a table with one column for each server.
func (r report) writeHead(text *strings.Builder, title string, servers []loaded) {
	fmt.Fprintf(text, "\n## %s\n\n| work |", title)
	for _, s := range servers {
		fmt.Fprintf(text, " %s |", s.Name)
	}
	text.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(servers)) + "\n")
}

func (r report) writeFigures(text *strings.Builder, title string, p99 bool) {
	r.writeHead(text, title, r.Servers)
	for i := range r.Work {
		work, unit := &r.Work[i], r.Work[i].Unit
		if p99 && !work.hasP99() {
			continue
		}
		if p99 {
			unit = ""
		}
		fmt.Fprintf(text, "| %s |", work.Title)
		for _, s := range r.Servers {
			fmt.Fprintf(text, " %s |", spreadOf(work.values(s.Name, p99)).text(unit))
		}
		text.WriteString("\n")
	}
}

// writeRatios writes how many times better we do than each other server.
func (r report) writeRatios(text *strings.Builder) {
	others := slices.DeleteFunc(slices.Clone(r.Servers), func(s loaded) bool { return s.Name == ours })
	r.writeHead(text, "How many times better users-api does", others)
	for i := range r.Work {
		work := &r.Work[i]
		fmt.Fprintf(text, "| %s |", work.Title)
		for _, s := range others {
			own, theirs := work.values(ours, false), work.values(s.Name, false)
			times := ratio(own, theirs)
			if work.LowerIsBetter {
				times = ratio(theirs, own)
			}
			fmt.Fprintf(text, " %s |", times.text(" ×"))
		}
		text.WriteString("\n")
	}
}

func (r report) writeGoals(text *strings.Builder) {
	text.WriteString("\n## Figures to reach\n\n| work | at least | measured | |\n| --- | --- | --- | --- |\n")
	for _, g := range goals {
		v, known := g.judge(r)
		if !known {
			fmt.Fprintf(text, "| %s | | not measured | |\n", g.what)
			continue
		}
		verdict := "reached"
		if !v.reached {
			verdict = "**not reached**"
		}
		fmt.Fprintf(text, "| %s | %s | %s | %s |\n", v.what, v.wanted, v.measured, verdict)
	}
}

func (r report) writeNotes(text *strings.Builder) {
	notes := []string{}
	for _, work := range r.Work {
		for _, server := range slices.Sorted(maps.Keys(work.Notes)) {
			notes = append(notes, fmt.Sprintf("- %s, %s: %s\n", work.Title, server, work.Notes[server]))
		}
	}
	if len(notes) > 0 {
		text.WriteString("\n## Left out, failed or refused\n\n" + strings.Join(notes, ""))
	}
}

// text returns a spread for a cell of a table.
func (s spread) text(unit string) string {
	if s.median == 0 {
		return "–"
	}
	if s.min == s.max {
		return number(s.median) + unit
	}
	return fmt.Sprintf("%s%s (%s–%s)", number(s.median), unit, number(s.min), number(s.max))
}

// number returns a number with three digits that count, or all digits before the point.
func number(value float64) string {
	switch {
	case value >= 100:
		return thousands(int(value + 0.5))
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}

// thousands returns a whole number with commas.
func thousands(value int) string {
	digits := strconv.Itoa(value)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(count) + " " + noun + "s"
}
