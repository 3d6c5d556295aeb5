// Package commands holds what each command of users-api does. It is the one package that knows all others: it reads
// the settings, chooses the storage, and decides in what order things start and stop.
package commands

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"users-api/config"
	"users-api/models"
	"users-api/models/sqlite"
	"users-api/routes"
)

// A stop takes at most 8 s, whatever clients and other programs do: a container engine kills after 10. routes.Serve
// takes up to 7 of them, and what follows shares the rest.
const (
	closeTime = 500 * time.Millisecond // for a lock that another program holds
	logTime   = 300 * time.Millisecond // for the last lines of a log that nobody reads
)

// sameSignal is how long a second signal counts as the first: air, among others, sends one to the process and another
// to its process group, and the requests under way must outlive both.
const sameSignal = time.Second

// Serve serves until it is asked to stop. The error says why it ended otherwise; it has been logged.
func Serve() error {
	settings, err := config.Read()
	signal.Ignore(syscall.SIGPIPE) // a log without a reader must not end the program
	logger, log := newLog(os.Stderr, settings, gatherTime)
	defer log.close(logTime)
	slog.SetDefault(logger) // for libraries: their lines wait for no reader either
	if err == nil {
		err = serve(settings, logger)
	}
	if err != nil {
		logger.Error("users-api stopped", "error", err)
	}
	return err
}

// serve runs from the first look at the data directory until the database is closed.
func serve(settings config.Config, logger *slog.Logger) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	ignore := context.AfterFunc(stop, func() {
		logger.Info("stopping", "reason", "signal")
		time.AfterFunc(sameSignal, cancel) // a later signal ends the program at once
	})
	defer ignore()

	tuneMemory(settings.ListMemory)
	if err := becomeUser(settings); err != nil {
		return err
	}
	users, err := sqlite.Open(stop, settings.DatabasePath(), settings.ListMemory)
	if errors.Is(err, context.Canceled) {
		return nil // it was asked to stop while it waited for a lock
	}
	if err != nil {
		return err
	}
	err = listenAndServe(stop, settings, users, logger)
	inTime, cancelClose := context.WithTimeout(context.Background(), closeTime)
	defer cancelClose()
	return errors.Join(err, users.Close(inTime))
}

// listenAndServe serves until the context ends, and returns nil then; requests under way are finished first.
func listenAndServe(stop context.Context, settings config.Config, users models.Users, logger *slog.Logger) error {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", settings.Port))
	if err != nil {
		return cannotListen(settings.Port, err)
	}
	logStart(logger, settings, listener.Addr())
	err = routes.Service{Users: users, Logger: logger}.Serve(stop, listener)
	if errors.Is(err, models.ErrLost) {
		return fmt.Errorf("%s: %w", settings.DatabasePath(), err)
	}
	return err
}

// cannotListen says what helps when a port cannot be had.
func cannotListen(port uint16, err error) error {
	help := "stop the program that has it, or set PORT to another"
	if errors.Is(err, syscall.EACCES) {
		help = "set PORT to 1024 or more, or grant the capability NET_BIND_SERVICE"
	}
	return fmt.Errorf("cannot listen on port %d: %w; %s", port, err, help)
}

// logStart tells a person where to go.
func logStart(logger *slog.Logger, settings config.Config, address net.Addr) {
	port := address.(*net.TCPAddr).Port // with PORT=0 the system chose it
	attributes := []any{"address", "http://localhost:" + strconv.Itoa(port), "database", settings.DatabasePath()}
	if settings.NodeEnv != "" {
		attributes = append(attributes, "node_env", settings.NodeEnv)
	}
	logger.Info("listening", attributes...)
}

// tuneMemory lets garbage grow to four times what is in use before it is collected, which serves a fifth more lists a
// second, up to a limit that leaves room for two lists and the requests: beyond it the collector works as hard as it
// must. GOGC and GOMEMLIMIT take precedence where a deployer sets them.
func tuneMemory(listMemory int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(32<<20 + 2*int64(listMemory))
	}
}
