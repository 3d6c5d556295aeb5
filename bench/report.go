package main

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// outcome is where what was measured goes.
type outcome struct{ samples, table, chart string }

var (
	published   = outcome{"results/samples.txt", "results/table.md", "../docs/bench.svg"}
	unpublished = outcome{"build/samples.txt", "build/table.md", "build/bench.svg"}
)

//go:embed table.md.tmpl
var tableTemplate string

// render writes the table and the chart of the samples, and prints the table.
func (o outcome) render(all []workload) error {
	r, err := readResults(o.samples, all)
	if err != nil {
		return err
	}
	table, err := fillIn(tableTemplate, r)
	if err != nil {
		return err
	}
	chart, err := (&chart{results: r}).draw()
	fmt.Println(table)
	return errors.Join(err, os.WriteFile(o.table, []byte(table), 0o644), os.WriteFile(o.chart, []byte(chart), 0o644))
}

func fillIn(text string, data any) (string, error) {
	var out strings.Builder
	functions := template.FuncMap{"number": number, "summarize": summarize, "place": place}
	err := template.Must(template.New("").Funcs(functions).Parse(text)).Execute(&out, data)
	return out.String(), err
}

// What the templates ask for: the servers that did any work, the work that any server did, and their figures. A unit of
// "" is the work's own.

func (r results) Servers() []*server {
	return slices.DeleteFunc(servers(), func(s *server) bool {
		return !slices.ContainsFunc(r.work, func(w workload) bool { return len(r.Values(w, s, "")) > 0 })
	})
}

func (r results) Work(unit string) []workload {
	return slices.DeleteFunc(slices.Clone(r.work), func(w workload) bool {
		return !slices.ContainsFunc(servers(), func(s *server) bool { return len(r.Values(w, s, unit)) > 0 })
	})
}

func (r results) Values(w workload, s *server, unit string) []float64 {
	return r.samples[point{w.key, s.Name, cmp.Or(unit, w.unit)}]
}

func (r results) Cell(w workload, s *server, unit string) string {
	return text(r.Values(w, s, unit), cmp.Or(unit, w.unit))
}

// Times returns how many times better than a server we do.
func (r results) Times(w workload, s *server) string {
	return text(times(r.samples[point{w.key, ours, w.unit}], r.Values(w, s, ""), w.unit == rate), "×")
}

func (r results) Verdicts() (known []verdict) {
	for _, g := range goals {
		if v := g.judge(r); v.Verdict != "" {
			known = append(known, v)
		}
	}
	return known
}

// text returns the median of samples, and its interval where there are enough for one.
func text(values []float64, unit string) string {
	if len(values) == 0 {
		return "–"
	}
	s := summarize(values)
	if s.Lo == s.Hi || len(s.Warnings) > 0 {
		return number(s.Center) + display(unit)
	}
	return fmt.Sprintf("%s%s (%s–%s)", number(s.Center), display(unit), number(s.Lo), number(s.Hi))
}

// display returns what is written behind a figure.
func display(unit string) string {
	switch unit {
	case rate:
		return "/s"
	case p50, p99:
		return ""
	}
	return " " + unit
}

// number returns a number with three digits that count, or all digits before the point.
func number(value float64) string {
	digits := 2
	if value >= 100 || value == 0 {
		digits = 0
	} else if value >= 10 {
		digits = 1
	}
	return message.NewPrinter(language.English).Sprintf("%.*f", digits, value)
}
