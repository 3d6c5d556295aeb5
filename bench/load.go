package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/sync/errgroup"
)

// wrk runs the script of a work on a server, with so many clients that have one request under way at any time. One
// thread of wrk is quicker than any server here, and leaves them the rest of the machine. RUN is in the emails that it
// creates: no two runs create the same.
func (x *subject) wrk(ctx context.Context, clients, seconds int, more ...string) ([]benchfmt.Value, error) {
	command := exec.CommandContext(ctx, "wrk", "--threads", "1", "--connections", fmt.Sprint(clients),
		"--duration", fmt.Sprintf("%ds", seconds), "--timeout", "60s", "--script", x.work.Script, x.url)
	command.Dir = "load"
	command.Env = slices.Concat(os.Environ(), x.work.Variables, more, []string{
		"READ_PATH=" + x.server.Paths[x.work.Path], fmt.Sprintf("USERS=%d", x.work.Users), fmt.Sprintf("CLIENTS=%d", clients),
		fmt.Sprintf("RUN=%x", time.Now().UnixMilli()%(1<<24)),
	})
	if x.quick {
		command.Env = append(command.Env, "QUICK=true")
	}
	for name, path := range x.server.Paths {
		command.Env = append(command.Env, strings.ToUpper(name)+"_PATH="+path)
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("wrk: %w: %s", err, output)
	}
	return parseFigures(string(output))
}

// tool runs what takes the place of wrk and of the API: it prints one figure, in the unit of the work.
func (x *subject) tool(ctx context.Context) ([]benchfmt.Value, error) {
	command := exec.CommandContext(ctx, "sh", filepath.Join("load", x.server.Tool))
	command.Env = append(os.Environ(), "URL="+x.url, "DATA_DIR="+x.data, "TEXT="+rare)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.server.Tool, err)
	}
	var value float64
	_, err = fmt.Sscan(string(output), &value)
	return figure(value, x.work.Unit), err
}

// parseFigures reads the line that load/report.lua prints. Refused and broken answers are an error beside the figures.
func parseFigures(output string) ([]benchfmt.Value, error) {
	var answered, microseconds, middle, late, refused, broken float64
	_, line, _ := strings.Cut(output, "figures ")
	_, err := fmt.Sscanf(line, "answered=%g microseconds=%g p50=%g p99=%g refused=%g broken=%g",
		&answered, &microseconds, &middle, &late, &refused, &broken)
	if err != nil || answered == 0 || microseconds == 0 {
		return nil, fmt.Errorf("wrk got no answer in its time: %q", strings.TrimSpace(output))
	}
	if refused+broken > 0 {
		err = fmt.Errorf("%g of %g answers were refusals, %g were broken", refused, answered, broken)
	}
	values := figure((answered-refused)/microseconds*1e6, rate)
	if late > 0 {
		values = slices.Concat(values, figure(middle/1000, p50), figure(late/1000, p99))
	}
	return values, err
}

// What wrk cannot do is done by the bench itself: requests of different kinds in their order, and long lists.

// do sends a request and reads its answer into a writer. A server without the route answers 404 or 405.
func (x *subject) do(ctx context.Context, method, path, body string, status int, into io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, method, x.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := x.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	switch answer.StatusCode {
	case status:
		_, err = io.Copy(into, answer.Body)
		return err
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fmt.Errorf("unavailable: %s %s: %s", method, path, answer.Status)
	}
	return fmt.Errorf("refused: %s %s: %s", method, path, answer.Status)
}

// together lets clients do work again and again until the time is over, waits for what is under way then, and returns
// how much was done in a second.
func together(clients int, duration time.Duration, work func() error) (float64, error) {
	var done atomic.Int64
	var all errgroup.Group
	started := time.Now()
	for range clients {
		all.Go(func() error {
			for ok := true; ok; ok = time.Since(started) < duration {
				if err := work(); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err := all.Wait()
	return float64(done.Load()) / time.Since(started).Seconds(), err
}
