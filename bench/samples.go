package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// Samples are Go benchmark lines, for benchstat. What went wrong stands between them, behind noteMark.
const (
	linePrefix = "BenchmarkWork/"
	noteMark   = "# "
)

//go:embed environment.sh
var environment string

// newSamples begins a file of samples. Of all figures but the rate, less is better.
func newSamples(ctx context.Context, path, more string) (*os.File, error) {
	head, err := exec.CommandContext(ctx, "sh", "-c", environment).Output()
	if err != nil {
		return nil, fmt.Errorf("cannot describe this machine: %w", err)
	}
	file, err := os.Create(path)
	if err == nil {
		_, err = fmt.Fprintf(file, "%sUnit %s better=higher\n%s", head, rate, more)
	}
	return file, err
}

// addSample adds a sample to a file, and what went wrong.
func addSample(file *os.File, s step, values []benchfmt.Value, trouble error) error {
	text := ""
	if trouble != nil {
		text = note("%s, %s: %v", s.work.Title, s.server.Name, trouble)
	}
	if len(values) > 0 {
		text += fmt.Sprintf("server: %s\n%s%s 1", s.server.Name, linePrefix, s.work.Key)
	}
	for _, v := range values {
		text += fmt.Sprintf(" %.5g %s", v.Value, v.Unit)
	}
	say("    %s", strings.ReplaceAll(text, "\n", " "))
	_, err := fmt.Fprintln(file, text)
	return err
}

// note returns a line about what went wrong.
func note(format string, values ...any) string {
	return noteMark + strings.ReplaceAll(fmt.Sprintf(format, values...), "\n", " ") + "\n"
}

// point is where a figure belongs.
type point struct{ work, server, unit string }

// results are all samples, in the order of the rounds.
type results struct {
	samples  map[point][]float64
	measured map[string]bool   // the servers that were
	Config   map[string]string // the environment
	Notes    []string
	work     []workload
}

func readResults(path string, all []workload) (results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return results{}, fmt.Errorf("nothing was measured yet: %w", err)
	}
	r := results{map[point][]float64{}, map[string]bool{}, map[string]string{}, nil, all}
	lines := benchfmt.NewReader(strings.NewReader(string(text)), path)
	for lines.Scan() {
		if line, ok := lines.Result().(*benchfmt.Result); ok {
			r.add(line)
		}
	}
	for line := range strings.Lines(string(text)) {
		if note, isNote := strings.CutPrefix(line, noteMark); isNote && !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	return r, lines.Err()
}

func (r results) add(line *benchfmt.Result) {
	for _, c := range line.Config {
		r.Config[c.Key] = string(c.Value)
	}
	delete(r.Config, "server")
	r.measured[line.GetConfig("server")] = true
	for _, v := range line.Values {
		p := point{strings.TrimPrefix("Benchmark"+line.Name.String(), linePrefix), line.GetConfig("server"), v.Unit}
		if v.OrigUnit != "" { // the reader makes B of MB
			p.unit, v.Value = v.OrigUnit, v.OrigValue
		}
		r.samples[p] = append(r.samples[p], v.Value)
	}
}

// find returns the work of a key, or none.
func (r results) find(key string) (found workload) {
	if i := slices.IndexFunc(r.work, func(w workload) bool { return w.Key == key }); i >= 0 {
		found = r.work[i]
	}
	return found
}

// summarize returns the median with an interval that holds the true one with a confidence of 95 %. It takes 6 samples
// to have an interval: of fewer it is infinite, and a warning says so.
func summarize(values []float64) benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds), 0.95)
}

// times returns how many times better our figures are than theirs, round by round: how many times more, or less.
func times(own, theirs []float64, more bool) (rounds []float64) {
	if !more {
		own, theirs = theirs, own
	}
	for i := range min(len(own), len(theirs)) {
		if theirs[i] > 0 {
			rounds = append(rounds, own[i]/theirs[i])
		}
	}
	return rounds
}
