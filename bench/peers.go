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
)

// server is a program under load: how it is built and started, where its API is, and what its answers are worth.
type server struct {
	Name, Durability string // and what a commit that was answered survives
	dir              string
	build            []string // the command that builds it in dir
	command          []string
	database, seed   string            // the file in its data directory, and SQL that adds users 1 to ?1; a limit has none
	paths            map[string]string // where it takes requests; with %d for an id, or %s for an email
	created          int               // the status of the answer to a creation
	leftOut          []string          // the keys of the work it is spared
}

// The names of the servers, as the tables have them.
const (
	ours          = "users-api"
	tutorial      = "Gin + GORM tutorial"
	expressBetter = "Express + better-sqlite3"
	pocketBase    = "PocketBase"
	bareHTTP      = "bare net/http"
	bareGin       = "bare Gin"
)

const buildDir = "build" // what is built, and the data under load: on a real disk, because flushes matter

//go:embed seed/users.sql
var seedUsers string

//go:embed seed/people.sql
var seedPeople string

// seedEmail returns the email of the user of a number, as seed/users.sql and load/report.lua have it.
func seedEmail(number int) string {
	return fmt.Sprintf("%08x.seed@example.com", uint32(number*2654435761))
}

var usersPaths = map[string]string{
	"health": "/health", "create": "/api/users", "list": "/api/users", "one": "/api/users/%d",
	"email": "/api/users?email=%s", "page": "/api/users?limit=100&after=%d",
}

const people = "/api/collections/people/records"

// PocketBase permits at most 1,000 users in an answer. It is spared counting all of them.
var peoplePaths = map[string]string{
	"health": "/api/health", "create": people, "list": people + "?perPage=1000&skipTotal=1", "one": people + "/%015d",
	"email": people + "?perPage=1&skipTotal=1&filter=email='%s'",
	"page":  people + "?perPage=100&skipTotal=1&sort=id&filter=id>'%015d'",
}

// servers returns all servers, ours first and the limits last.
func servers() []*server {
	const nothing, wal = "none: it stores nothing", "WAL, synchronous FULL"
	express := goServer(expressBetter, wal, "peers/express-better-sqlite3")
	express.build = []string{"sh", "-c", "test -f node_modules/.package-lock.json || npm_config_build_from_source=true npm ci"}
	express.command = []string{"node", absolute(express.dir, "server.js")}
	express.leftOut = []string{"binary"} // it is no single file
	pocket := goServer(pocketBase, "WAL, synchronous NORMAL (its default: a power cut may take the last commits)",
		"peers/pocketbase", "github.com/pocketbase/pocketbase/examples/base")
	pocket.command = slices.Concat([]string{"sh", "-c", `exec "$0" serve --http=127.0.0.1:$PORT --dir="$DATA_DIR" ` +
		`--dev=false --automigrate=false --migrationsDir="` + absolute(pocket.dir, "migrations") + `"`}, pocket.command)
	pocket.database, pocket.seed, pocket.paths, pocket.created = "data.db", seedPeople, peoplePaths, 200
	pocket.leftOut = []string{"list-100000", "mix-writes", "memory"} // it has no such lists, only pages
	http, gin := goServer(bareHTTP, nothing, "peers/bare"), goServer(bareGin, nothing, "peers/bare")
	http.database, gin.database, gin.command = "", "", append(gin.command, "gin")
	return []*server{
		goServer(ours, wal, "..", "-tags", "nomsgpack"),
		goServer(tutorial, "rollback journal, synchronous FULL (SQLite's defaults)", "peers/tutorial"),
		express, pocket, http, gin,
	}
}

// goServer is a Go program in a directory that serves the users API, built as it is shipped: static and stripped.
func goServer(name, durability, dir string, flags ...string) *server {
	binary := absolute(buildDir, "bin", strings.ReplaceAll(name, "/", " "))
	return &server{
		Name: name, Durability: durability, dir: dir,
		build:    slices.Concat([]string{"go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary}, flags),
		command:  []string{binary},
		database: "users.db", seed: seedUsers, paths: usersPaths, created: 201,
	}
}

func absolute(elements ...string) string {
	path, _ := filepath.Abs(filepath.Join(elements...)) // it fails only where there is no working directory
	return path
}

// IsLimit reports whether a server stores nothing: others are compared with it, and it is no peer.
func (s *server) IsLimit() bool { return s.database == "" }

// build builds all servers and returns those that could be built, with a note for each of the others. Without our own
// there is nothing to compare.
func build(ctx context.Context, all []*server) (built []*server, notes string, err error) {
	for i, s := range all {
		say("building %d of %d: %s", i+1, len(all), s.Name)
		command := exec.CommandContext(ctx, s.build[0], s.build[1:]...)
		command.Dir, command.Env = s.dir, append(os.Environ(), "CGO_ENABLED=0")
		output, err := command.CombinedOutput()
		switch {
		case err == nil:
			built = append(built, s)
		case s.Name == ours || ctx.Err() != nil:
			return nil, "", fmt.Errorf("cannot build %s: %w\n%s", s.Name, err, output)
		default:
			notes += note("%s is unavailable, it could not be built: %v: %.300s", s.Name, err, output)
		}
	}
	return built, notes, nil
}
