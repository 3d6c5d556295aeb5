package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/sync/errgroup"
)

// measurement measures one server once. An error beside figures is what went wrong among what went well.
type measurement func(*subject, context.Context) ([]benchfmt.Value, error)

// measurements are the ways to measure that works.yaml names.
func measurements() map[string]measurement {
	return map[string]measurement{
		"":                      (*subject).scripted,
		"long lists":            (*subject).longLists,
		"lists beside writes":   (*subject).listsBesideWrites,
		"beside followers":      (*subject).besideFollowers,
		"first lists":           (*subject).firstLists,
		"three answers":         answersAfter((*subject).leave, 3),
		"five answers":          answersAfter((*subject).leave, 5),
		"lists after nothing":   answersAfter((*subject).leave, 100),
		"lists after creations": answersAfter((*subject).create, 100),
		"lists after changes":   answersAfter((*subject).change, 100),
		"lists after deletions": answersAfter((*subject).remove, 100),

		"lists after foreign changes": (*subject).listsAfterForeignChanges,
	}
}

func figure(value float64, unit string) []benchfmt.Value {
	return []benchfmt.Value{{Value: value, Unit: unit}}
}

// measure takes the figures of a work: of each of its parts in turn, where it has any, and the unit says which.
func (x *subject) measure(ctx context.Context) (values []benchfmt.Value, troubles error) {
	if len(x.work.Parts) == 0 {
		return measurements()[x.work.Measure](x, ctx)
	}
	for _, p := range x.work.Parts {
		y := *x
		y.work, y.work.Users = p, x.work.Users
		got, err := y.measure(ctx)
		if err != nil {
			troubles = errors.Join(troubles, fmt.Errorf("%s: %w", p.Unit, err))
		}
		if len(got) > 0 {
			values = append(values, benchfmt.Value{Value: got[0].Value, Unit: p.Unit})
		}
	}
	return values, troubles
}

// scripted runs a script. That of wrk warms up first: connections are opened, and Node compiles what is used often. The
// clients that warm up are few: what many leave unanswered when they go, a slow server would be busy with while it counts.
func (x *subject) scripted(ctx context.Context) ([]benchfmt.Value, error) {
	script := cmp.Or(x.server.Script, x.work.Script)
	if !strings.HasSuffix(script, ".lua") {
		return x.run(ctx, "sh -e "+script, x.work.Clients)
	}
	x.warmUp(ctx, script)
	return x.load(ctx, script)
}

// One thread of wrk is quicker than any server here, and leaves them the rest of the machine.
const wrk = `exec timeout --preserve-status --signal INT %g wrk --threads 1 --connections "$CLIENTS" --duration %ds ` +
	`--timeout 60s --script %s "$URL"`

func (x *subject) warmUp(ctx context.Context, script string) {
	if !x.quick { // what fails is told by the load itself
		_, _ = x.run(ctx, fmt.Sprintf(wrk, cmp.Or(x.server.Warm, 0.3), 1, script), min(x.work.Clients, 8), "WARM=true")
	}
}

func (x *subject) load(ctx context.Context, script string) ([]benchfmt.Value, error) {
	seconds := x.seconds * max(1, x.work.Times)
	return x.run(ctx, fmt.Sprintf(wrk, float64(seconds+60), seconds, script), x.work.Clients)
}

// longLists measures lists a second to 8 clients. Of those that take long, so few are whole when the time is over that
// the bench reads them itself, and waits for those under way.
func (x *subject) longLists(ctx context.Context) ([]benchfmt.Value, error) {
	var lists atomic.Int64
	var clients errgroup.Group
	started := time.Now()
	for range 8 {
		clients.Go(func() error {
			for ok := true; ok; ok = time.Since(started) < time.Duration(x.seconds)*time.Second {
				if err := x.read(ctx, io.Discard); err != nil {
					return err
				}
				lists.Add(1)
			}
			return nil
		})
	}
	err := clients.Wait()
	return figure(float64(lists.Load())/time.Since(started).Seconds(), rate), err
}

// answersAfter measures how long an answer takes that is asked for right after a write was answered: the median of so
// many. The writes are of users all over the table.
func answersAfter(write func(*subject, context.Context, int) error, times int) measurement {
	return func(x *subject, ctx context.Context) ([]benchfmt.Value, error) {
		if x.quick {
			times = min(times, 10)
		}
		took := make([]float64, 0, times)
		for i := range times + times/5 {
			if err := write(x, ctx, i*7919%x.work.Users+1); err != nil {
				return nil, err
			}
			started := time.Now()
			if err := x.read(ctx, io.Discard); err != nil {
				return nil, err
			}
			if i >= times/5 { // the first ones warm up
				took = append(took, 1000*time.Since(started).Seconds())
			}
		}
		return figure(summarize(took).Center, "ms"), nil
	}
}

// firstLists measures how long the first list takes after a start: the median of five starts.
func (x *subject) firstLists(ctx context.Context) ([]benchfmt.Value, error) {
	var took []float64
	for range 5 {
		x.stop()
		again, err := launch(ctx, x.server, x.data)
		if err != nil {
			return nil, err
		}
		x.process = again
		started := time.Now()
		if err := x.read(ctx, io.Discard); err != nil {
			return nil, err
		}
		took = append(took, 1000*time.Since(started).Seconds())
	}
	return figure(summarize(took).Center, "ms"), nil
}
