package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// environment describes what the figures depend on.
func environment(ctx context.Context) []string {
	lines := []string{
		fmt.Sprintf("%s: %d × %s, %s", runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(), processor(), firstLine(ctx, "uname", "-sr")),
		fmt.Sprintf("%s, Node %s, %s", runtime.Version(), firstLine(ctx, "node", "--version"), wrkVersion(ctx)),
	}
	if flush, err := flushTime(200); err == nil {
		lines = append(lines, fmt.Sprintf("4 KiB written and flushed to the disk of the databases: %s ms (median)", number(flush)))
	}
	return lines
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.HasPrefix(name, "model name") {
			return strings.TrimSpace(model)
		}
	}
	return "processor"
}

// firstLine returns the first line that a command prints, or a dash.
func firstLine(ctx context.Context, name string, arguments ...string) string {
	output, _ := exec.CommandContext(ctx, name, arguments...).CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if line == "" {
		return "–"
	}
	return line
}

func wrkVersion(ctx context.Context) string {
	version, _, _ := strings.Cut(firstLine(ctx, "wrk", "--version"), " [")
	return version
}

// flushTime returns how long the disk takes, in ms, for what every commit needs.
func flushTime(times int) (float64, error) {
	file, err := os.CreateTemp(buildDir, "flush-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // in the build directory
	defer file.Close()           //nolint:errcheck // nothing in it is needed
	page, took := make([]byte, 4096), make([]float64, 0, times)
	for range times {
		started := time.Now()
		if _, err := file.Write(page); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took = append(took, milliseconds(time.Since(started)))
	}
	return median(took), nil
}
