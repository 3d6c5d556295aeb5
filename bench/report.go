package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// outcome is where what was measured goes, and the templates that show it.
type outcome struct{ samples, table, chart, tableTemplate, chartTemplate string }

const unfinished = buildDir + "/unfinished.txt" // the samples of a run that still goes on

//go:embed *.tmpl
var templates embed.FS

// outcome returns where a run writes: only a full one replaces the published figures.
func (o options) outcome() outcome {
	out := outcome{"results/samples.txt", "results/table.md", "../docs/bench.svg", "table.md.tmpl", "chart.svg.tmpl"}
	if o.curve {
		out = outcome{"results/curve.txt", "results/curve.md", "../docs/curve.svg", "curve.md.tmpl", "curve.svg.tmpl"}
	}
	part := o.only != "*" || o.servers != "*" || o.binary != "" || o.before != ""
	if o.quick || part || o.rounds < 6 && !o.curve {
		for _, path := range []*string{&out.samples, &out.table, &out.chart} {
			*path = filepath.Join(buildDir, filepath.Base(*path))
		}
	}
	return out
}

// render writes the table and the chart of the samples, and prints the table.
func (o outcome) render(all []workload) error {
	r, err := readResults(o.samples, all)
	if err != nil {
		return err
	}
	table, err := fillIn(o.tableTemplate, r)
	if err != nil {
		return err
	}
	chart, err := (&chart{results: r}).draw(o.chartTemplate)
	fmt.Println(table)
	return errors.Join(err, os.WriteFile(o.table, []byte(table), 0o644), os.WriteFile(o.chart, []byte(chart), 0o644))
}

func fillIn(name string, data any) (string, error) {
	var out strings.Builder
	functions := template.FuncMap{"number": number, "summarize": summarize, "place": place}
	all := template.Must(template.New("").Funcs(functions).ParseFS(templates, "*.tmpl"))
	err := all.ExecuteTemplate(&out, name, data)
	return out.String(), err
}

// What the templates ask for: the servers of an engine that did any work, the work that any of them did, and their
// figures. An engine of "" is any, and a unit of "" the work's own.

func (r results) Servers(engine string) []*server {
	return slices.DeleteFunc(servers(), func(s *server) bool {
		return !r.measured[s.Name] || engine != "" && s.Engine != engine
	})
}

func (r results) Engines() []string { return []string{"SQLite", "PostgreSQL"} }

func (r results) Work(engine, unit string) []workload {
	return slices.DeleteFunc(slices.Clone(r.work), func(w workload) bool {
		return !slices.ContainsFunc(r.Servers(engine), func(s *server) bool { return len(r.Values(w, s, unit)) > 0 })
	})
}

// Waits are the other figures of an engine: how long clients wait.
func (r results) Waits(engine string) (all []wait) {
	for _, w := range []wait{
		{"Time to answer: p99 in ms", p99},
		{"Time from an answer to its arrival at the followers: median in ms", arrivalP50}, {"The same: p99 in ms", arrivalP99},
	} {
		if len(r.Work(engine, w.Unit)) > 0 {
			all = append(all, w)
		}
	}
	return all
}

// wait is a figure beside the one of a work, and what the table calls it.
type wait struct{ Title, Unit string }

func (r results) Values(w workload, s *server, unit string) []float64 {
	return r.samples[point{w.Key, s.Name, cmp.Or(unit, w.Unit)}]
}

func (r results) Cell(w workload, s *server, unit string) string {
	return text(r.Values(w, s, unit), cmp.Or(unit, w.Unit))
}

// Times returns how many times better than a server we do on its engine.
func (r results) Times(w workload, s *server) string {
	own := map[string]string{"SQLite": ours, "PostgreSQL": oursPostgreSQL}[s.Engine]
	return text(times(r.samples[point{w.Key, own, w.Unit}], r.Values(w, s, ""), w.Unit == rate), "×")
}

func (r results) Verdicts() (known []verdict) {
	for _, g := range goals() {
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
	case peak:
		return " MiB"
	case "ms", "s", "MiB", "MB", "×":
		return " " + unit
	}
	return "" // the head of its column says it
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
