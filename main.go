// Command users-api serves a registry of users as JSON over HTTP, from one SQLite file. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"users-api/config"
	"users-api/models"
	"users-api/routes"
)

// stopTime is how long requests under way may take once the program was asked to stop: a second more than a write waits
// for another program's lock. A container engine kills after 10 s; what is left is for the last checkpoint.
const stopTime = 6 * time.Second

// sameSignal is how long a second signal counts as the first: air, among others, sends one to the process and another
// to its process group, and the requests under way must outlive both.
const sameSignal = time.Second

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err := run(os.Args[1:]); err != nil {
		slog.Error("users-api stopped", "error", err)
		os.Exit(1)
	}
}

// run does what the arguments ask for: without any, it serves.
func run(arguments []string) error {
	settings, err := config.Read()
	if err != nil {
		return err
	}
	switch {
	case len(arguments) == 0:
		return serve(settings)
	case len(arguments) == 1 && arguments[0] == "healthcheck":
		return healthcheck(settings)
	default:
		return fmt.Errorf("unknown arguments %q: `users-api` serves, `users-api healthcheck` asks a running one", arguments)
	}
}

// serve runs from the first look at the data directory until the database file is closed.
func serve(settings config.Config) error {
	slog.SetDefault(newLogger(settings))
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(stop, func() { time.AfterFunc(sameSignal, cancel) }) // a later signal ends the program at once

	tuneMemory(settings.ListMemory)
	if err := becomeUser(settings); err != nil {
		return err
	}
	users, err := models.Open(settings.DatabasePath(), settings.ListMemory)
	if err != nil {
		return err
	}
	err = listenAndServe(stop, settings, users)
	return errors.Join(err, users.Close())
}

// listenAndServe serves until the context ends, and returns nil then; requests under way are finished first.
func listenAndServe(stop context.Context, settings config.Config, users *models.Users) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", settings.Port))
	if err != nil {
		return fmt.Errorf("cannot listen on port %d: %w; stop the program that has it, or set PORT to another", settings.Port, err)
	}
	server := routes.NewServer(users, slog.Default())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(routes.Patient(listener)) }()
	logStart(settings, listener.Addr())

	select {
	case <-stop.Done():
		slog.Info("stopping", "reason", "signal")
		shutDown(server)
		return nil
	case err := <-failed:
		return fmt.Errorf("cannot accept connections: %w", err)
	case <-users.Lost():
		shutDown(server)
		return fmt.Errorf("%s: %w", settings.DatabasePath(), models.ErrLost)
	}
}

// shutDown takes no new requests, waits for those under way, and cuts off what is not done in time.
func shutDown(server *http.Server) {
	deadline, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		slog.Warn("some clients were cut off", "after", stopTime)
		_ = server.Close()
	}
}

// tuneMemory lets garbage grow to four times what is in use before it is collected, which serves a fifth more lists a
// second, up to a limit that leaves room for two lists and the requests: beyond it the collector works as hard as it
// must. GOGC and GOMEMLIMIT, where a deployer sets them, say otherwise.
func tuneMemory(listMemory int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(32<<20 + 2*int64(listMemory))
	}
}

func newLogger(settings config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: settings.LogLevel}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// logStart tells a person where to go.
func logStart(settings config.Config, address net.Addr) {
	port := address.(*net.TCPAddr).Port // with PORT=0 the system chose it
	attributes := []any{"address", "http://localhost:" + strconv.Itoa(port), "database", settings.DatabasePath()}
	if settings.NodeEnv != "" {
		attributes = append(attributes, "node_env", settings.NodeEnv)
	}
	slog.Info("listening", attributes...)
}
