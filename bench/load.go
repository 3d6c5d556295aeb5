package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// load is what wrk does to a server: one of the scripts under load/, by so many clients, each with one request under
// way at any time. One thread of wrk is quicker than any server here, and leaves them the rest of the machine.
type load struct {
	script    string
	clients   int
	seconds   int
	variables []string // what the script reads from its environment
}

// figures is what came of it.
type figures struct {
	answered        int
	elapsed         time.Duration
	p50, p99        time.Duration
	refused, broken int // answers from 400 on, and requests without a whole answer
}

// perSecond returns the rate of answers that were no refusals.
func (f figures) perSecond() float64 {
	return float64(f.answered-f.refused) / f.elapsed.Seconds()
}

// trouble returns what went wrong, or "".
func (f figures) trouble() string {
	if f.refused+f.broken == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d answers were refusals, %d were broken", f.refused, f.answered, f.broken)
}

// runs numbers the runs of wrk, so that no two of them create the same emails.
var runs atomic.Int64

// wrk runs the load on a server at an address.
func (l load) wrk(ctx context.Context, s *server, url string) (figures, error) {
	command := exec.CommandContext(ctx, "wrk", "--threads", "1", "--connections", strconv.Itoa(l.clients),
		"--duration", strconv.Itoa(l.seconds)+"s", "--timeout", "60s", "--script", l.script, url)
	command.Dir = "load"
	command.Env = append(os.Environ(), "LIST_PATH="+s.api.list, "CREATE_PATH="+s.api.create, "DELETE_PATH="+s.api.delete,
		fmt.Sprintf("RUN=r%d", runs.Add(1)), fmt.Sprintf("CLIENTS=%d", l.clients))
	command.Env = append(command.Env, l.variables...)
	output, err := command.CombinedOutput()
	if err != nil {
		return figures{}, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return parseFigures(string(output))
}

// parseFigures reads the line that load/report.lua prints.
func parseFigures(output string) (figures, error) {
	_, line, found := strings.Cut(output, "figures ")
	line, _, _ = strings.Cut(line, "\n")
	values := map[string]int{}
	for _, field := range strings.Fields(line) {
		key, text, _ := strings.Cut(field, "=")
		value, err := strconv.Atoi(text)
		if err != nil {
			return figures{}, fmt.Errorf("wrk printed %q: %w", field, err)
		}
		values[key] = value
	}
	f := figures{
		answered: values["requests"],
		elapsed:  time.Duration(values["microseconds"]) * time.Microsecond,
		p50:      time.Duration(values["p50"]) * time.Microsecond,
		p99:      time.Duration(values["p99"]) * time.Microsecond,
		refused:  values["refused"],
		broken:   values["broken"],
	}
	if !found {
		return f, fmt.Errorf("wrk printed no figures: %q", strings.TrimSpace(output))
	}
	if f.answered == 0 || f.elapsed == 0 {
		return f, fmt.Errorf("wrk got no answer within %s", f.elapsed)
	}
	return f, nil
}
