package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// step is one work on one server once.
type step struct {
	round  int
	work   workload
	server *server
}

// steps are all that is to do. Within a round the servers take turns at each work, and each round begins with another
// one, so that a machine that is slower for a while is so for all of them.
func steps(rounds int, work []workload, all []*server) (todo []step) {
	for round := range rounds {
		for _, w := range work {
			for turn := range all {
				if s := all[(turn+round)%len(all)]; s.takesPart(w) {
					todo = append(todo, step{round + 1, w, s})
				}
			}
		}
	}
	return todo
}

// measureAll builds the servers, does all work on all of them, and writes the samples.
func measureAll(ctx context.Context, o options, work []workload, all []*server) error {
	if err := os.MkdirAll(absolute(buildDir, "bin"), 0o755); err != nil {
		return err
	}
	idle := func(s *server) bool { return !slices.ContainsFunc(work, s.takesPart) }
	built, notes, err := build(ctx, slices.DeleteFunc(all, idle))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(absolute(buildDir), "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the build directory
	samples, err := newSamples(ctx, unfinished, fmt.Sprintf("load: %d s\n%s", o.seconds, notes))
	if err != nil {
		return err
	}
	defer samples.Close() //nolint:errcheck // every line was checked
	started, todo := time.Now(), steps(o.rounds, work, built)
	for i, next := range todo {
		say("%d of %d, about %s left: round %d, %s, %s", i+1, len(todo), left(time.Since(started), todo, i, o.seconds),
			next.round, next.work.Title, next.server.Name)
		values, err := takeSample(ctx, dir, o, next.work, next.server)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := addSample(samples, next, values, err); err != nil { // what fails is told, and the others go on
			return err
		}
	}
	return nil
}

// left guesses how long the steps from one on will take: as much longer than expected as those before it have.
func left(spent time.Duration, todo []step, from, seconds int) time.Duration {
	const usual = 1 // second for what comes before a load
	expect := func(steps []step) (sum time.Duration) {
		for _, s := range steps {
			sum += time.Duration(s.work.Slow + seconds + usual)
		}
		return sum
	}
	once := expect(todo[:1])
	return (expect(todo[from:]) * (spent + once*time.Second) / (expect(todo[:from]) + once)).Round(time.Second)
}
