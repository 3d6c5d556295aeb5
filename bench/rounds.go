package main

import (
	"context"
	"fmt"
	"os"
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
				if s := all[(turn+round)%len(all)]; w.takesPart(s) {
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
	built, notes, err := build(ctx, all)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(absolute(buildDir), "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the build directory
	samples, err := newSamples(ctx, unpublished.samples, fmt.Sprintf("load: %d s\n%s", o.seconds, notes))
	if err != nil {
		return err
	}
	defer samples.Close() //nolint:errcheck // every line was checked
	started, todo := time.Now(), steps(o.rounds, work, built)
	for i, next := range todo {
		// Guessed from the steps so far, and a usual one: the first round also fills the databases.
		spent := time.Since(started) + time.Duration(o.seconds+1)*time.Second
		left := spent / time.Duration(i+1) * time.Duration(len(todo)-i)
		say("%d of %d, about %s left: round %d, %s, %s", i+1, len(todo), left.Round(time.Second), next.round,
			next.work.Title(), next.server.Name)
		values, err := takeSample(ctx, dir, next.work, next.server)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := addSample(samples, next, values, err); err != nil { // what fails is told, and the others go on
			return err
		}
	}
	return nil
}
