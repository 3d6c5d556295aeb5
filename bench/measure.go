package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// measurement measures one server once. An error beside figures is what went wrong among what went well.
type measurement func(*subject, context.Context) ([]benchfmt.Value, error)

// measurements are the ways to measure that works.yaml names.
func measurements() map[string]measurement {
	return map[string]measurement{
		"":                      (*subject).load,
		"long lists":            (*subject).longLists,
		"three answers":         answersAfter((*subject).leave, 3),
		"five answers":          answersAfter((*subject).leave, 5),
		"lists after nothing":   answersAfter((*subject).leave, 100),
		"lists after creations": answersAfter((*subject).create, 100),
		"lists after changes":   answersAfter((*subject).change, 100),
		"lists after deletions": answersAfter((*subject).remove, 100),
		"import":                timed((*subject).imports),
		"export":                timed((*subject).exports),
		"memory of four lists":  (*subject).fourLists,
		"memory":                (*subject).most,
		"idle":                  (*subject).idle,
		"start":                 (*subject).start,
		"binary":                (*subject).binary,
		"disk":                  (*subject).disk,
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

// load measures answers a second, after a second of the same load: Node compiles what is used often. The clients that
// warm up are few: what many leave unanswered when they go, a slow server would still be busy with while it counts.
func (x *subject) load(ctx context.Context) ([]benchfmt.Value, error) {
	if !x.quick {
		if _, err := x.wrk(ctx, min(x.work.Clients, 8), 1, "WARM=true"); err != nil {
			return nil, err
		}
	}
	return x.wrk(ctx, x.work.Clients, x.seconds*max(1, x.work.Times))
}

// longLists measures lists a second to 8 clients. Of those that take long, so few are whole when the time is over that
// the bench reads them itself, and waits for those under way.
func (x *subject) longLists(ctx context.Context) ([]benchfmt.Value, error) {
	done, err := together(8, time.Duration(x.seconds)*time.Second, func() error { return x.list(ctx) })
	return figure(done, rate), err
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

// timed measures how long something takes, and the most memory that the server had.
func timed(work func(*subject, context.Context) (time.Duration, error)) measurement {
	return func(x *subject, ctx context.Context) ([]benchfmt.Value, error) {
		took, err := work(x, ctx)
		if err != nil {
			return nil, err
		}
		most, err := x.most(ctx)
		return slices.Concat(figure(1000*took.Seconds(), "ms"), most), err
	}
}

// memory returns what a line of /proc/PID/status says.
func (x *subject) memory(line, unit string) ([]benchfmt.Value, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", x.command.Process.Pid))
	if err != nil {
		return nil, fmt.Errorf("the server is gone: %w", err)
	}
	var kib float64
	_, rest, _ := strings.Cut(string(status), line+":")
	_, err = fmt.Sscan(rest, &kib)
	return figure(kib/1024, unit), err
}

// most measures the most memory that a server had.
func (x *subject) most(context.Context) ([]benchfmt.Value, error) { return x.memory("VmHWM", peak) }

// fourLists measures that after each of 4 clients has read one whole list.
func (x *subject) fourLists(ctx context.Context) ([]benchfmt.Value, error) {
	if _, err := together(4, 0, func() error { return x.list(ctx) }); err != nil {
		return nil, err
	}
	return x.most(ctx)
}

// idle measures the memory of a server that has just started, and had the time to become idle.
func (x *subject) idle(context.Context) ([]benchfmt.Value, error) {
	time.Sleep(500 * time.Millisecond)
	return x.memory("VmRSS", "MiB")
}

// start measures how long a server takes from its start to its first answer, on a database that is there, as after any
// start but the first.
func (x *subject) start(context.Context) ([]benchfmt.Value, error) {
	return figure(1000*x.took.Seconds(), "ms"), nil
}

// binary measures the file to ship.
func (x *subject) binary(context.Context) ([]benchfmt.Value, error) {
	file, err := os.Stat(os.ExpandEnv(x.server.Command[len(x.server.Command)-1]))
	if err != nil {
		return nil, err
	}
	return figure(float64(file.Size())/1e6, "MB"), nil
}

// disk measures the data directory, without PostgreSQL's log of what is not in its tables yet.
func (x *subject) disk(context.Context) ([]benchfmt.Value, error) {
	total := 0.0
	err := filepath.WalkDir(x.data, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() == "pg_wal" {
			return fs.SkipDir // a file may be removed meanwhile
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += float64(info.Size())
		}
		return nil
	})
	return figure(total/1e6, "MB"), err
}
