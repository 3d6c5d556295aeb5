package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// report is everything that was measured.
type report struct {
	Environment []string          `json:"environment"`
	Rounds      int               `json:"rounds"`
	Seconds     int               `json:"seconds"`
	Quick       bool              `json:"quick,omitempty"`
	Took        string            `json:"took"`
	Servers     []loaded          `json:"servers"`
	Work        []outcome         `json:"work"`
	Missing     map[string]string `json:"missing"` // servers that could not be built, with the reason
}

// loaded is a server that was under load.
type loaded struct {
	Name       string `json:"name"`
	Durability string `json:"durability"`
}

// outcome is what came of one work: the samples of each server, one for each round.
type outcome struct {
	Key           string              `json:"key"`
	Title         string              `json:"title"`
	Unit          string              `json:"unit"`
	LowerIsBetter bool                `json:"lower_is_better,omitempty"`
	Samples       map[string][]sample `json:"samples"`
	Notes         map[string]string   `json:"notes"`
}

func newReport(ctx context.Context, o options, work []workload, all []*server) report {
	r := report{Environment: environment(ctx), Rounds: o.rounds, Seconds: o.seconds, Quick: o.quick}
	for _, s := range all {
		r.Servers = append(r.Servers, loaded{s.name, s.durability})
	}
	for _, w := range work {
		r.Work = append(r.Work, outcome{w.key, w.title, w.unit, w.lowerIsBetter, map[string][]sample{}, map[string]string{}})
	}
	return r
}

// find returns the work with a key, or nil.
func (r report) find(key string) *outcome {
	for i := range r.Work {
		if r.Work[i].Key == key {
			return &r.Work[i]
		}
	}
	return nil
}

// values returns the figures of a server, or its p99.
func (o *outcome) values(server string, p99 bool) []float64 {
	values := []float64{}
	for _, s := range o.Samples[server] {
		if p99 {
			values = append(values, s.P99)
		} else {
			values = append(values, s.Value)
		}
	}
	return values
}

// best returns the name of the server that does best among those asked for.
func (o *outcome) best(among func(server string) bool) string {
	name, figure := "", 0.0
	for server := range o.Samples {
		m := median(o.values(server, false))
		if !among(server) || m == 0 {
			continue
		}
		if name == "" || (m > figure) != o.LowerIsBetter {
			name, figure = server, m
		}
	}
	return name
}

// hasP99 reports whether the work has times to answer of its own.
func (o *outcome) hasP99() bool {
	return len(o.Samples[ours]) > 0 && o.Samples[ours][0].P99 > 0
}

// save keeps the samples, so that the table and the chart can be made again.
func (r report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'))
}

func readReport(path string) (report, error) {
	var r report
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("no full run was saved: %w", err)
	}
	return r, json.Unmarshal(text, &r)
}

// publish writes the table and the chart, and prints the table.
func publish(r report, table, chart string) error {
	text := r.markdown()
	fmt.Println(text)
	if err := writeFile(table, []byte(text)); err != nil {
		return err
	}
	return writeFile(chart, []byte(r.chart()))
}

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
