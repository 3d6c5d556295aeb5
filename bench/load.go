package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// run runs a command in load/ and returns the figures that it prints. What it says on stderr is what went wrong. RUN
// is in the emails that it creates: no two runs create the same.
func (x *subject) run(ctx context.Context, line string, clients int, more ...string) ([]benchfmt.Value, error) {
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.Dir = "load"
	command.Env = slices.Concat(os.Environ(), x.work.Variables, x.server.Variables, more, []string{
		"URL=" + x.url, "DATA_DIR=" + x.data, "BINARY=" + os.ExpandEnv(x.server.Command[len(x.server.Command)-1]),
		"RARE=" + rare, "READ_PATH=" + x.server.Paths[x.work.Path], fmt.Sprintf("PID=%d", x.command.Process.Pid),
		fmt.Sprintf("USERS=%d", x.work.Users), fmt.Sprintf("CLIENTS=%d", clients),
		fmt.Sprintf("LOAD_SECONDS=%d", x.seconds), fmt.Sprintf("START_MS=%g", 1000*x.took.Seconds()),
		fmt.Sprintf("RUN=%x", time.Now().UnixMilli()%(1<<24)),
	})
	if x.quick {
		command.Env = append(command.Env, "QUICK=true")
	}
	for name, path := range x.server.Paths {
		command.Env = append(command.Env, strings.ToUpper(name)+"_PATH="+path)
	}
	var output, trouble strings.Builder
	command.Stdout, command.Stderr = &output, &trouble
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", line, err, trouble.String())
	}
	values, err := parseFigures(output.String())
	if trouble.Len() > 0 {
		err = errors.Join(err, errors.New(trouble.String()))
	}
	return values, err
}

// parseFigures reads what a script prints: numbers, each with its unit.
func parseFigures(output string) (values []benchfmt.Value, err error) {
	_, figures, _ := strings.Cut(output, "figures ")
	for pair := range slices.Chunk(strings.Fields(figures), 2) {
		var value float64
		if _, err := fmt.Sscan(pair[0], &value); err != nil || len(pair) < 2 {
			return nil, fmt.Errorf("not a figure with its unit: %q", pair)
		}
		values = append(values, figure(value, pair[1])...)
	}
	if len(values) == 0 {
		err = fmt.Errorf("no answer in its time: %q", strings.TrimSpace(output))
	}
	return values, err
}

// do sends a request and reads its answer into a writer.
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
	if answer.StatusCode != status {
		return fmt.Errorf("%s %s was answered %s", method, path, answer.Status)
	}
	_, err = io.Copy(into, answer.Body)
	return err
}
