package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// server is a program under load, as peers.yaml has it: how it is built and started, where its API is, and what a commit
// that was answered survives.
type server struct {
	Name, Engine, Durability           string
	Dir, Build, Database, Seed, Script string
	Command, Work, Variables           []string
	Paths                              map[string]string
	Created                            int
	Limit, Before                      bool
	Warm                               float64
}

// Names that the code knows, as peers.yaml has them.
const (
	ours           = "users-api"
	oursPostgreSQL = "users-api on PostgreSQL"
)

const buildDir = "build" // what is built, and the data under load: on a real disk, because flushes matter

//go:embed peers.yaml
var peersFile []byte

// servers returns all servers, ours of each engine before its peers.
func servers() (all []*server) { return parsed(peersFile, all) }

// parsed reads a file that is part of the program, so that only a mistake in it can fail.
func parsed[T any](file []byte, into T) T {
	if err := yaml.UnmarshalWithOptions(file, &into, yaml.DisallowUnknownField(), yaml.AllowDuplicateMapKey()); err != nil {
		panic(err)
	}
	return into
}

// seedEmail returns the email of the user of a number, as seed/ and load/report.lua have it.
func seedEmail(number int) string {
	return fmt.Sprintf("%08x.seed@example.com", uint32(number*2654435761))
}

// laterEmail returns the email of a user that the bench itself creates.
func laterEmail(number int) string {
	return fmt.Sprintf("%08x%s", uint32(number*2654435761), laterDomain)
}

const laterDomain = ".after@example.com"

func absolute(elements ...string) string {
	path, _ := filepath.Abs(filepath.Join(elements...)) // it fails only where there is no working directory
	return path
}

// IsOurs reports whether a server is users-api, on either engine.
func (s *server) IsOurs() bool { return s.Dir == ".." && !s.Limit }

// takesPart reports whether a server does some work.
func (s *server) takesPart(w workload) bool { return matches(s.Work, w.Key) }

// matches reports whether a name is one of those in a list, which may end with a star for any end.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		start, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, start)
	})
}

// at returns where a server answers what is read at a place.
func (s *server) at(path string, place any) string {
	if place == nil {
		return s.Paths[path]
	}
	return fmt.Sprintf(s.Paths[path], place)
}

// build builds all servers, static, and returns those that could be built, with a note for each of the others. Without
// our own there is nothing to compare.
func build(ctx context.Context, all []*server) (built []*server, notes string, err error) {
	for i, s := range all {
		say("building %d of %d: %s", i+1, len(all), s.Name)
		err := s.run(ctx, absolute(s.Dir), s.Build, "CGO_ENABLED=0")
		switch {
		case err == nil:
			built = append(built, s)
		case s.Name == ours || ctx.Err() != nil:
			return nil, "", fmt.Errorf("cannot build %s: %w", s.Name, err)
		default:
			notes += note("%s is unavailable, it could not be built: %.300v", s.Name, err)
		}
	}
	return built, notes, nil
}

// run runs one of a server's commands to its end.
func (s *server) run(ctx context.Context, dir, line string, variables ...string) error {
	command := exec.CommandContext(ctx, "sh", "-c", line)
	command.Dir, command.Env = dir, slices.Concat(os.Environ(), s.Variables, variables)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, output)
	}
	return nil
}
