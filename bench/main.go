// Command bench loads users-api and its peers in turn, and says how they compare. See README.md.
//
// A sample is one work (work.go) on one server (peers.go) once: a fresh process on a fresh database (lab.go,
// measure.go). Samples are Go benchmark lines (samples.go); table, verdicts and chart are made from them (report.go).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	rounds, seconds int
	only, servers   string
	quick, render   bool
	curve           bool
	binary, before  string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 6, "how often everything is measured; fewer than 6 give no confidence")
	flag.IntVar(&o.seconds, "seconds", 3, "how long a load lasts")
	flag.StringVar(&o.only, "only", "*", "measure only these, as in creations-64,list-* (see README.md)")
	flag.StringVar(&o.servers, "servers", "*", "load only these, as in users-api,bare*")
	flag.BoolVar(&o.quick, "quick", false, "one short round with small databases: a rough table in two minutes")
	flag.BoolVar(&o.curve, "curve", false, "measure how figures grow with the number of users and processes instead")
	flag.StringVar(&o.binary, "binary", "", "load this file as users-api, instead of building it")
	flag.StringVar(&o.before, "before", "", "load this other build of users-api, too, as users-api before")
	flag.BoolVar(&o.render, "render", false, "measure nothing: write the table and the chart of the last run again")
	flag.Parse()

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.quick {
		o.rounds, o.seconds = 1, 1
	}
	out, all := o.outcome(), works(o)
	if o.render {
		return out.render(all)
	}
	work, err := pick(works(o), o.only, func(w workload) string { return w.Key })
	if err != nil {
		return err
	}
	known := slices.DeleteFunc(servers(), func(s *server) bool { return s.Before && o.before == "" })
	loaded, err := pick(known, o.servers, func(s *server) string { return s.Name })
	if err != nil {
		return err
	}
	// For the commands of peers.yaml. It fails only for names that cannot be.
	_, _ = os.Setenv("BIN", absolute(buildDir, "bin")), os.Setenv("BENCH", absolute())
	for name, path := range map[string]string{"GIVEN": o.binary, "GIVEN_BEFORE": o.before} {
		if path != "" {
			path = absolute(path)
		}
		_ = os.Setenv(name, path)
	}
	if err := measureAll(ctx, o, work, loaded); err != nil {
		return err
	}
	if err := os.Rename(unfinished, out.samples); err != nil {
		return err
	}
	return out.render(all)
}

// pick returns what has one of the names between the commas; a name may end with a star.
func pick[T any](all []T, names string, nameOf func(T) string) ([]T, error) {
	list := strings.Split(names, ",")
	for i, name := range list {
		if !slices.ContainsFunc(all, func(one T) bool { return matches(list[i:i+1], nameOf(one)) }) {
			return nil, fmt.Errorf("nothing is called %q; the names are in works.yaml and peers.yaml", name)
		}
	}
	return slices.DeleteFunc(all, func(one T) bool { return !matches(list, nameOf(one)) }), nil
}

// say tells what is going on.
func say(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }
