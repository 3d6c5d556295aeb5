// Command bench loads users-api and its peers in turn, and says how they compare. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	rounds, seconds int
	only, servers   string
	quick, render   bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 3, "how often everything is measured")
	flag.IntVar(&o.seconds, "seconds", 3, "how long a load lasts")
	flag.StringVar(&o.only, "only", "", "measure only these, as in creations-64,mix (see README.md)")
	flag.StringVar(&o.servers, "servers", "", "load only servers with one of these texts in their name, as in users-api,bare")
	flag.BoolVar(&o.quick, "quick", false, "one short round with small databases: does everything work?")
	flag.BoolVar(&o.render, "render", false, "measure nothing: write the table and the chart of the last full run again")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.render {
		r, err := readReport(samplesFile)
		if err != nil {
			return err
		}
		return publish(r, tableFile, chartFile)
	}
	if err := checkTools(); err != nil {
		return err
	}
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return err
	}
	work, all := o.selected()
	built, missing, err := build(ctx, all)
	if err != nil {
		return err
	}
	r, err := measureAll(ctx, o, work, built)
	if err != nil {
		return err
	}
	r.Missing = missing
	return o.write(r)
}

// selected returns the work and the servers that were asked for.
func (o *options) selected() (work []workload, all []*server) {
	s := fullSizes(o.seconds)
	if o.quick {
		s = quickSizes()
		o.rounds, o.seconds = 1, s.seconds
	}
	for _, w := range workloads(s) {
		if o.only == "" || contains(o.only, func(key string) bool { return key == w.key }) {
			work = append(work, w)
		}
	}
	for _, s := range servers() {
		if o.servers == "" || contains(o.servers, func(text string) bool { return strings.Contains(s.name, text) }) {
			all = append(all, s)
		}
	}
	return work, all
}

// contains reports whether one of the texts between the commas fits.
func contains(texts string, fits func(string) bool) bool {
	for text := range strings.SplitSeq(texts, ",") {
		if fits(strings.TrimSpace(text)) {
			return true
		}
	}
	return false
}

// Where the outcome goes. Only a full run replaces the published figures.
const (
	samplesFile = "results/samples.json"
	tableFile   = "results/table.md"
	chartFile   = "../docs/bench.svg"
)

func (o *options) write(r report) error {
	if o.quick || o.only != "" || o.servers != "" {
		say("not a full run: its table and chart are in %s", buildDir)
		return publish(r, filepath.Join(buildDir, "table.md"), filepath.Join(buildDir, "bench.svg"))
	}
	return errors.Join(r.save(samplesFile), publish(r, tableFile, chartFile))
}

// checkTools looks for what no Go module brings.
func checkTools() error {
	if _, err := os.Stat("peers"); err != nil {
		return errors.New("start it in the directory bench: `cd bench && go run .`")
	}
	if _, err := exec.LookPath("wrk"); err != nil {
		return errors.New("wrk is needed for the load: `apt-get install wrk`, or see README.md")
	}
	return nil
}

// say tells what is going on.
func say(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }
