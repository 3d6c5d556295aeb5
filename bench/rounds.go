package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// measureAll does all work on all servers, round by round. Within a round the servers take turns at each work, and
// each round begins with another one, so that a machine that is slower for a while is so for all of them.
func measureAll(ctx context.Context, o options, work []workload, all []*server) (report, error) {
	dir, err := os.MkdirTemp(buildDir, "run-")
	if err != nil {
		return report{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the build directory
	if dir, err = filepath.Abs(dir); err != nil {
		return report{}, err
	}
	b := &bench{seeds: &seeds{dir: dir}, ours: servers()[0], bodies: map[string]string{}}
	r := newReport(ctx, o, work, all)
	started := time.Now()
	for round := range o.rounds {
		for i, w := range work {
			say("%s  round %d: %s", time.Since(started).Round(time.Second), round+1, w.title)
			for turn := range all {
				b.measure(ctx, &r.Work[i], w, all[(turn+round)%len(all)])
			}
			if ctx.Err() != nil {
				return report{}, ctx.Err()
			}
		}
	}
	r.Took = time.Since(started).Round(time.Second).String()
	return r, nil
}

// measure does one work on one server once. What fails is told, and the others go on.
func (b *bench) measure(ctx context.Context, into *outcome, w workload, s *server) {
	takesPart, reason := w.takesPart(s)
	if !takesPart {
		if reason != "" {
			into.Notes[s.name] = "left out: " + reason
		}
		return
	}
	figure, err := w.measure(ctx, b, s, w.users)
	switch {
	case errors.Is(err, errUnavailable):
		into.Notes[s.name] = err.Error()
		say("    %-26s %v", s.name, err)
		return
	case err != nil:
		into.Notes[s.name] = "failed: " + err.Error()
		say("    %-26s failed: %v", s.name, err)
		return
	case figure.Trouble != "":
		into.Notes[s.name] = figure.Trouble
	}
	into.Samples[s.name] = append(into.Samples[s.name], figure)
	say("    %-26s %s%s  %s", s.name, number(figure.Value), w.unit, figure.Trouble)
}
