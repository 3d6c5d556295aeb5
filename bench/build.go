package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build builds all servers and returns those that could be built. Without our own there is nothing to compare.
func build(ctx context.Context, all []*server) (built []*server, missing map[string]string, err error) {
	missing = map[string]string{}
	for _, s := range all {
		say("building %s", s.name)
		err := s.build(ctx)
		switch {
		case err == nil:
			built = append(built, s)
		case s.name == ours || ctx.Err() != nil:
			return nil, nil, err
		default:
			missing[s.name] = err.Error()
			say("  left out: %v", err)
		}
	}
	return built, missing, nil
}

// goBuild builds the program in dir as it is shipped: static and stripped.
func goBuild(ctx context.Context, dir, binary string, flags ...string) error {
	arguments := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary}, flags...)
	return execute(ctx, dir, []string{"CGO_ENABLED=0"}, "go", append(arguments, ".")...)
}

// npmInstall copies a Node program to the build directory, and installs what it needs there. Native modules are
// compiled: what is downloaded ready-made would be another build on each machine.
func npmInstall(ctx context.Context, name string) error {
	dir := filepath.Join(buildDir, name)
	if err := os.CopyFS(dir, replacing(dir, os.DirFS(filepath.Join("peers", name)))); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err == nil {
		return nil // by an earlier run; remove the build directory to have it done again
	}
	settings := []string{"npm_config_build_from_source=true"}
	if headers := nodeHeaders(); headers != "" {
		settings = append(settings, "npm_config_nodedir="+headers)
	}
	return execute(ctx, dir, settings, "npm", "ci", "--no-audit", "--no-fund")
}

// replacing removes from dir the files that source has, because os.CopyFS overwrites none.
func replacing(dir string, source fs.FS) fs.FS {
	entries, _ := fs.ReadDir(source, ".")
	for _, entry := range entries {
		if !entry.IsDir() {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
	return source
}

// nodeHeaders returns the prefix of the installed Node when its headers are there, so that npm need not fetch them.
func nodeHeaders() string {
	node, err := exec.LookPath("node")
	if err != nil {
		return ""
	}
	prefix := filepath.Dir(filepath.Dir(node))
	if _, err := os.Stat(filepath.Join(prefix, "include", "node", "node.h")); err != nil {
		return ""
	}
	return prefix
}

// execute runs a command to its end. The error has the last lines of its output.
func execute(ctx context.Context, dir string, environment []string, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = dir
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return fmt.Errorf("%s: %w: %s", name, err, strings.Join(lines[max(0, len(lines)-5):], "; "))
}
