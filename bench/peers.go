package main

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
)

// server is a program under load: how it is built and started, where its API is, and what its answers are worth.
type server struct {
	name       string
	durability string // what a commit that was answered survives
	build      func(context.Context) error
	command    []string
	binary     string // the one file to ship, where there is one

	database string // the file in its data directory; "" for a server that stores nothing
	seed     string // SQL that adds users 1 to ?1
	api      api

	leftOut map[string]string // the keys of the work it is spared, with the reason
}

// api is where a server takes requests.
type api struct {
	health, list, create string
	delete, one          string // formats for the id
	email                string // a format for the email
	page                 string // a format for the id after which a page of 100 users begins
	created              int    // the status of the answer to a creation
	pageSize             int    // of lists that come in pages; 0 for whole lists
}

// The names of the servers, as the tables have them.
const (
	ours            = "users-api"
	tutorial        = "Gin + GORM tutorial"
	expressSQLite   = "Express + sqlite3"
	expressBetter   = "Express + better-sqlite3"
	pocketBase      = "PocketBase"
	bare            = "bare net/http"
	bareGin         = "bare Gin"
	durableRollback = "rollback journal, synchronous FULL (SQLite's defaults)"
	durableWAL      = "WAL, synchronous FULL"
)

const (
	buildDir = "build" // everything that is built, and the data under load: on a real disk, because flushes matter
	binDir   = buildDir + "/bin"
)

// numbered are the users 1 to ?1. Their emails are scattered over the index, see load/report.lua.
const (
	numbered = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "
	nameOf   = "'User ' || i"
	emailOf  = "printf('%08x.seed@example.com', (i * 2654435761) & 4294967295)"

	seedUsers = numbered + "INSERT INTO users (name, email, created_at) SELECT " +
		nameOf + ", " + emailOf + ", '2024-01-01 00:00:00' FROM n"
	seedPeople = numbered + "INSERT INTO people (id, name, email, created) SELECT printf('%015d', i), " +
		nameOf + ", " + emailOf + ", '2024-01-01 00:00:00.000Z' FROM n"
)

var usersAPI = api{
	health:  "/health",
	list:    "/api/users",
	create:  "/api/users",
	delete:  "/api/users/%d",
	one:     "/api/users/%d",
	email:   "/api/users?email=%s",
	page:    "/api/users?limit=100&after=%d",
	created: http.StatusCreated,
}

var peopleAPI = api{
	health:   "/api/health",
	list:     "/api/collections/people/records?perPage=1000&skipTotal=1", // without the count of all records
	create:   "/api/collections/people/records",
	delete:   "/api/collections/people/records/%015d",
	one:      "/api/collections/people/records/%015d",
	email:    "/api/collections/people/records?perPage=1&skipTotal=1&filter=email='%s'",
	page:     "/api/collections/people/records?perPage=100&skipTotal=1&sort=id&filter=id>'%015d'",
	created:  http.StatusOK,
	pageSize: 1000, // the largest that PocketBase permits
}

// servers returns all servers, ours first and the limits last.
func servers() []*server {
	return []*server{
		goServer(ours, durableWAL, "..", "users-api", "-tags", "nomsgpack"),
		goServer(tutorial, durableRollback, "peers/tutorial", "tutorial"),
		nodeServer(expressSQLite, durableRollback, "express-sqlite3"),
		nodeServer(expressBetter, durableWAL, "express-better-sqlite3"),
		pocketBaseServer(),
		limit(bare, "peers/bare", "bare"),
		limit(bareGin, "peers/gin", "gin"),
	}
}

// isLimit reports whether the server stores nothing.
func (s *server) isLimit() bool { return s.name == bare || s.name == bareGin }

// goServer is a Go program in a directory that serves the users API.
func goServer(name, durability, dir, program string, flags ...string) *server {
	binary, _ := filepath.Abs(filepath.Join(binDir, program))
	return &server{
		name: name, durability: durability,
		build:   func(ctx context.Context) error { return goBuild(ctx, dir, binary, flags...) },
		command: []string{binary}, binary: binary,
		database: "users.db", seed: seedUsers, api: usersAPI,
	}
}

// nodeServer is a Node program under peers/ that serves the users API.
func nodeServer(name, durability, dir string) *server {
	script, _ := filepath.Abs(filepath.Join(buildDir, dir, "server.js"))
	node, _ := exec.LookPath("node")
	return &server{
		name: name, durability: durability,
		build:    func(ctx context.Context) error { return npmInstall(ctx, dir) },
		command:  []string{node, script},
		database: "users.db", seed: seedUsers, api: usersAPI,
		leftOut: map[string]string{"binary": "it is no single file: Node, its modules and the program"},
	}
}

func pocketBaseServer() *server {
	s := goServer(pocketBase, "WAL, synchronous NORMAL (its default: a power cut may take the last commits)",
		"peers/pocketbase", "pocketbase")
	s.database, s.seed, s.api = "data.db", seedPeople, peopleAPI
	s.leftOut = map[string]string{"memory": "1,000 pages for each list: it takes minutes, and no page is large"}
	return s
}

// limit is a server that stores nothing: what others reach is compared with it, and it is no peer.
func limit(name, dir, program string) *server {
	s := goServer(name, "none: it stores nothing", dir, program)
	s.database, s.seed = "", ""
	return s
}
