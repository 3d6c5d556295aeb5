package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// measurement measures one server once. An error beside figures is what went wrong among what went well.
type measurement func(context.Context, *subject) ([]benchfmt.Value, error)

func figure(value float64, unit string) []benchfmt.Value {
	return []benchfmt.Value{{Value: value, Unit: unit}}
}

// under measures answers a second, after a second of the same load: Node compiles what is used often. The clients that
// warm up are few: what many leave unanswered when they go, a slow server would still be busy with while it counts.
func under(l load, warmUp ...string) measurement {
	return func(ctx context.Context, x *subject) ([]benchfmt.Value, error) {
		if !l.cold {
			warm := load{l.script, min(l.clients, 8), 1, slices.Concat(l.variables, warmUp), true}
			if _, err := warm.wrk(ctx, x); err != nil {
				return nil, err
			}
		}
		return l.wrk(ctx, x)
	}
}

// longLists measures lists a second. Of those that take long, so few are whole when the time is over that the bench
// reads them itself, and waits for those under way.
func longLists(clients, seconds int) measurement {
	return func(ctx context.Context, x *subject) ([]benchfmt.Value, error) {
		done, err := together(clients, time.Duration(seconds)*time.Second, func() error { return x.list(ctx) })
		return figure(done, rate), err
	}
}

// listsAfter measures how long the list takes that is asked for right after a write was answered: the median of so
// many. The writes are of users all over the table.
func listsAfter(write func(*subject, context.Context, int) error, times int) measurement {
	return func(ctx context.Context, x *subject) ([]benchfmt.Value, error) {
		took := make([]float64, 0, times)
		for i := range times + times/5 {
			if err := write(x, ctx, i*7919%x.work.users+1); err != nil {
				return nil, err
			}
			started := time.Now()
			if err := x.list(ctx); err != nil {
				return nil, err
			}
			if i >= times/5 { // the first ones warm up
				took = append(took, 1000*time.Since(started).Seconds())
			}
		}
		return figure(summarize(took).Center, "ms"), nil
	}
}

// memory measures what a line of /proc/PID/status says: VmRSS, what a process has in memory, or VmHWM, the most it had.
func memory(line string, after check) measurement {
	return func(ctx context.Context, x *subject) ([]benchfmt.Value, error) {
		if err := after(ctx, x); err != nil {
			return nil, err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", x.command.Process.Pid))
		if err != nil {
			return nil, fmt.Errorf("the server is gone: %w", err)
		}
		var kib float64
		_, rest, _ := strings.Cut(string(status), line+":")
		_, err = fmt.Sscan(rest, &kib)
		return figure(kib/1024, "MiB"), err
	}
}

// fourLists lets each of 4 clients read one whole list.
func fourLists(ctx context.Context, x *subject) error {
	_, err := together(4, 0, func() error { return x.list(ctx) })
	return err
}

// pause gives a server that has just started the time to become idle.
func pause(context.Context, *subject) error {
	time.Sleep(500 * time.Millisecond)
	return nil
}

// startTime measures how long a server takes from its start to its first answer, on a database that is there, as after
// any start but the first.
func startTime(_ context.Context, x *subject) ([]benchfmt.Value, error) {
	return figure(1000*x.took.Seconds(), "ms"), nil
}

// binarySize measures the file to ship.
func binarySize(_ context.Context, x *subject) ([]benchfmt.Value, error) {
	binary, err := os.ReadFile(x.server.command[len(x.server.command)-1])
	return figure(float64(len(binary))/1e6, "MB"), err
}
